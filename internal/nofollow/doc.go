// Package nofollow opens directories without following a symbolic link anywhere on the
// way.
//
// Who can write to a directory on the way to a target can put a link in its place at
// any moment, also between a check and a use. Open goes from the root directory
// downwards, one name at a time, and holds each directory open while it looks up the
// next name in it: what it returns is what the path names without any link, or an error.
package nofollow

// Package markdown finds what a page tells people to type: its blocks of code, with their
// languages, and the commands and manifests in them. What comes in is the text of a page.
package markdown

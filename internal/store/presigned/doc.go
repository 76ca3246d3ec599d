// Package presigned reads and writes objects through the URLs of a trial.Grant,
// which is all that a worker has: no credentials, no listing, no other objects.
//
// An upload carries a Content-MD5 header, which the signature does not cover and
// which makes the server refuse a body that was damaged on the way. A signed URL
// is a credential, so no error of this package holds one.
package presigned

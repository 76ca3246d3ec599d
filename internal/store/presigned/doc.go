// Package presigned reads and writes objects through the URLs of a trial.Grant,
// the only access that a worker has: no credentials, no listing, no other
// objects.
//
// An upload carries a Content-MD5 header. The signature does not cover it, but
// it makes the server refuse a body that was damaged on the way. A signed URL is
// a credential, so no error of this package holds one.
//
// A connection that is refused, or that nobody answers, is tried again at once: the address may be that of a Service
// with several operators, of which only the leader listens.
package presigned

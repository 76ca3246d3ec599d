// Package s3 keeps results in a bucket of an S3-compatible server.
//
// It is the only package that knows the SDK, and the only one that holds
// credentials: the operator's. Every error wraps one of the errors of package
// store and includes the server's message, and never contains a secret or a
// signed URL.
package s3

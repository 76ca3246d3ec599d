// Package store defines where results are kept: a tree of objects under a
// prefix.
//
// Two packages implement Store, s3 (any S3-compatible server) and dir (a folder,
// for `storagebench run`); package presigned implements Objects with the URLs of
// a Grant, the only access that a worker has. Keys are relative to the prefix,
// with slashes, and never contain "." or ".." as a segment.
package store

// Package docs checks documents that are written by hand against the code that they
// describe, so that neither is changed without the other.
package docs

package main

import (
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainLayer is a tar file as it is. The library's own layers from files are
// always compressed.
type plainLayer struct {
	file   string
	digest v1.Hash
	size   int64
}

var _ v1.Layer = plainLayer{}

func newPlainLayer(file string) (plainLayer, error) {
	content, err := os.Open(file)
	if err != nil {
		return plainLayer{}, err
	}
	defer content.Close()
	digest, size, err := v1.SHA256(content)
	return plainLayer{file: file, digest: digest, size: size}, err
}

func (l plainLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l plainLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }
func (l plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

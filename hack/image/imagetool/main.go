// Command imagetool writes a container image from layers that are tar files,
// as an OCI layout in one tar that "ctr images import" reads. It needs neither
// a registry nor a daemon.
//
//	imagetool --ref NAME:TAG --layer base.tar --layer files.tar \
//	    [--thin] [--user 65532:65532] [--entrypoint /manager] [--env K=V] --output image.tar
//
// Layers stay uncompressed: the image goes no further than this machine, where
// gzip would only cost seconds twice. The same input gives the same bytes.
package main

import (
	"archive/tar"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type options struct {
	ref, output, user       string
	layers, entrypoint, env list
	thin                    bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("imagetool: ")
	var o options
	flag.StringVar(&o.ref, "ref", "", "full name of the image, with its tag")
	flag.StringVar(&o.output, "output", "", "tar file to write")
	flag.StringVar(&o.user, "user", "", "user of the image's processes")
	flag.Var(&o.layers, "layer", "tar file that becomes a layer; repeat, lowest first")
	flag.Var(&o.entrypoint, "entrypoint", "word of the entrypoint; repeat")
	flag.Var(&o.env, "env", "NAME=value; repeat")
	flag.BoolVar(&o.thin, "thin", false, "leave out the content of all layers but the last: the importer has it already")
	flag.Parse()
	if o.ref == "" || o.output == "" || len(o.layers) == 0 {
		log.Fatal("--ref, --output and at least one --layer are required")
	}
	if err := write(o); err != nil {
		log.Fatal(err)
	}
}

func write(o options) error {
	image, err := build(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(o.output), ".imagetool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// containerd takes the image's name from the first annotation, other
	// importers from the second.
	names := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          o.ref,
		"org.opencontainers.image.ref.name": o.ref[strings.LastIndex(o.ref, ":")+1:],
	})
	if err := path.AppendImage(image, names); err != nil {
		return err
	}
	if o.thin {
		layers, err := image.Layers()
		if err != nil {
			return err
		}
		for _, layer := range layers[:len(layers)-1] {
			digest, err := layer.Digest()
			if err != nil {
				return err
			}
			if err := path.RemoveBlob(digest); err != nil {
				return err
			}
		}
	}
	return pack(dir, o.output)
}

func build(o options) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, file := range o.layers {
		layer, err := newPlainLayer(file)
		if err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, fmt.Errorf("layer %s: %w", file, err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	// containerd refuses an image whose config does not say these two.
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.User = o.user
	config.Config.Entrypoint = o.entrypoint
	config.Config.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, o.env...)
	return mutate.ConfigFile(image, config)
}

// pack writes a directory as a tar without times or owners, by way of a
// temporary file so that an interrupted run leaves no half image.
func pack(dir, output string) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(files)
	temporary, err := os.CreateTemp(filepath.Dir(output), ".imagetool-")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // does nothing after the rename
	archive := tar.NewWriter(temporary)
	for _, file := range files {
		if err := add(archive, dir, file); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), output)
}

func add(archive *tar.Writer, dir, file string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(archive, content)
	return err
}

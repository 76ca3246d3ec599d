//go:build system

package device

import (
	"os"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// An attribute has files compressed, and what is made in a directory inherits it. The mount table does not show that.
func TestAnAttributeHasFilesCompressed(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "btrfs", 384<<20)
	plain, packed := filepath.Join(dir, "plain"), filepath.Join(dir, "packed")
	for _, d := range []string{plain, packed} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	devicetest.Run(t, "chattr", "+c", packed)
	below := filepath.Join(packed, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(below, "image")
	devicetest.Run(t, "dd", "if=/dev/zero", "of="+image, "bs=1M", "count=8", "status=none")
	for path, want := range map[string]bool{plain: false, packed: true, below: true, image: true} {
		if l := layersOf(t, path)[0]; l.HasOption("compress=attribute") != want {
			t.Errorf("%s: the options are %s", path, l.Options)
		}
	}
}

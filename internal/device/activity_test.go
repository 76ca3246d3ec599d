package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestWhatTheKernelDoesBesidesIsSeen(t *testing.T) {
	root := t.TempDir()
	put := func(path, content string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scan := "none requested"
	s := System{Root: root, Pool: func(string) (string, error) {
		return "  pool: tank\n state: ONLINE\n  scan: " + scan + "\nconfig:\n", nil
	}}
	layers := []result.Layer{
		{ID: "fs:/a", Kind: result.FilesystemLayer, Type: "ext4"}, {ID: "md0", Kind: result.MappedLayer, Number: "9:0", Type: "raid1"},
		{ID: "fs:/b", Kind: result.FilesystemLayer, Type: "btrfs", Source: "/dev/sdb"}, {ID: "pool:tank", Kind: result.PoolLayer, Type: "zfs"},
	}
	put("sys/dev/block/9:0/md/sync_action", "idle")
	put("sys/dev/block/9:0/md/sync_completed", "none")
	put("sys/fs/btrfs/abc/devices/sdb/dev", "8:16")
	put("sys/fs/btrfs/abc/exclusive_operation", "none")
	put("proc/12/comm", "kworker/0:1")
	if got := s.Activities(layers); len(got) > 0 {
		t.Errorf("of idle storage: %v", got)
	}
	put("sys/dev/block/9:0/md/sync_action", "resync")
	put("sys/dev/block/9:0/md/sync_completed", "100 / 400")
	put("sys/fs/btrfs/abc/exclusive_operation", "balance")
	put("proc/13/comm", "ext4lazyinit")
	scan = "scrub in progress since Sun Jul 25 16:07:49 2027"
	want := []result.Activity{
		{On: "fs:/a", What: result.LazyInit, Maybe: true}, {On: "md0", What: "resync", Done: 0.25},
		{On: "fs:/b", What: "balance"}, {On: "pool:tank", What: "scrub"},
	}
	if got := s.Activities(layers); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	scan = "scrub repaired 0B in 00:00:01 with 0 errors on Sun Jul 25 16:07:49 2027"
	var many []result.Layer
	for i := range 100 {
		many = append(many, result.Layer{ID: fmt.Sprint("fs:/", i), Type: "ext4"}, layers[1], layers[3])
	}
	if got := s.Activities(many); len(got) != result.MaxActivities || got[2].On == "pool:tank" {
		t.Errorf("of many layers: %v", got)
	}
}

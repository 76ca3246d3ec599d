package observe

import (
	"os"
	"path/filepath"
	"testing"
)

func disk(t *testing.T, root, name, stat string) {
	t.Helper()
	dir := filepath.Join(root, "sys/block", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDisksAreAddedUpAndTheirTimesDividedByWhatTheyDid(t *testing.T) {
	root := t.TempDir()
	d := Disks{Root: root, Names: []string{"sda", "sdb"}}
	read := func() Counters {
		t.Helper()
		c, err := d.Read()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	disk(t, root, "sda", "100 0 800 50 10 0 80 5 0 40 60 0 0 0 0 7 70\n")
	disk(t, root, "sdb", "0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0\n")
	before := read()
	disk(t, root, "sda", "110 0 880 60 30 0 240 45 0 90 560 0 0 0 0 9 90\n")
	disk(t, root, "sdb", "10 0 80 30 0 0 0 0 0 0 500 0 0 0 0 0 0\n")
	m := before.Metrics(read(), 2)
	for name, want := range map[string]float64{
		"device.read.count": 20, "device.read.bytes": 160 * 512, "device.read.await": 0.002,
		"device.write.count": 20, "device.write.bytes": 160 * 512, "device.write.await": 0.002,
		"device.flush.count": 2, "device.flush.await": 0.010, "device.queue.depth": 0.5,
	} {
		if got, ok := m[name]; !ok || got.Value != want {
			t.Errorf("%s is %+v, want %v", name, got, want)
		}
	}
	idle := before.Metrics(before, 1)
	if _, ok := idle["device.write.await"]; ok || idle["device.flush.count"].Value != 0 {
		t.Errorf("of idle disks: %v", idle)
	}
	differ(t, "counters that went back", read().Metrics(before, 1), nil)
}

func TestADiskThatIsGoneIsAnError(t *testing.T) {
	root := t.TempDir()
	if _, err := (Disks{Root: root, Names: []string{"sda"}}).Read(); err == nil {
		t.Error("a disk that is not there was read")
	}
	disk(t, root, "sda", "1 x")
	if _, err := (Disks{Root: root, Names: []string{"sda"}}).Read(); err == nil {
		t.Error("a counter that is no number was read")
	}
}

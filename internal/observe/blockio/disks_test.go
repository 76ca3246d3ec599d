package blockio

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestOnlyDisksWithRequestsAreObserved(t *testing.T) {
	root := t.TempDir()
	for path, content := range map[string]string{
		"sda/dev": "8:16\n", "sda/queue/nr_requests": "64\n", "sda/mq/0/cpu_list": "0\n", "sda/mq/1/cpu_list": "1\n",
		"old/dev": "259:1048575\n", "old/mq/0/cpu_list": "0\n",
		"zram0/dev": "253:0\n",
		"odd/dev":   "8\n",
		"huge/dev":  "4096:0\n",
	} {
		path = filepath.Join(root, "sys/block", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disks, unseen := Disks(root, []string{"sda", "old", "zram0", "odd", "huge", "gone"})
	want := []Disk{{Name: "sda", number: 8<<20 | 16, requests: 2 * 129, stat: filepath.Join(root, "sys/block/sda/stat")}, {Name: "old", number: 259<<20 | 0xfffff, requests: 513, stat: filepath.Join(root, "sys/block/old/stat")}}
	if diff := cmp.Diff(want, disks, cmp.AllowUnexported(Disk{})); diff != "" {
		t.Error(diff)
	}
	for i, words := range []string{"zram0: it takes I/O without requests", "odd: it has no device number", "huge: it has no", "gone: it has no"} {
		if i >= len(unseen) || !strings.HasPrefix(unseen[i], words) {
			t.Errorf("unseen is %q, want %q at %d", unseen, words, i)
		}
	}
}

func TestTheReasonIsSaidInWords(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no privilege": {unix.EPERM, "CAP_BPF and CAP_PERFMON"},
		"no BTF":       {btf.ErrNotSupported, "CONFIG_DEBUG_INFO_BTF"},
		"old kernel":   {ebpf.ErrNotSupported, "Linux 5.11"},
		"refused":      {&ebpf.VerifierError{Cause: unix.EINVAL, Log: []string{"0: R1", "invalid access"}}, "invalid access"},
		"another":      {errors.New("no memory"), "no memory"},
	} {
		if got := explain(c.err).Error(); !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q does not say %q in a line", name, got, c.want)
		}
	}
	if _, err := Open(nil); err == nil || !strings.Contains(err.Error(), "none of the target's disks") {
		t.Errorf("without disks: %v", err)
	}
	if _, err := Open(make([]Disk, maxDisks+1)); err == nil || !strings.Contains(err.Error(), "the limit is 32") {
		t.Errorf("with too many disks: %v", err)
	}
}

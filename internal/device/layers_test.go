package device

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// worlds is how many machines the tests make up. STORAGEBENCH_WORLDS makes it more.
func worlds(t *testing.T) uint64 {
	t.Helper()
	n := uint64(35)
	if text := os.Getenv("STORAGEBENCH_WORLDS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// closure returns the IDs of a node and of all that is below it.
func (w *world) closure(n *node) []string {
	seen := map[string]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n.ID] {
			return
		}
		seen[n.ID] = true
		for _, b := range n.below {
			visit(b)
		}
	}
	visit(n)
	var out []string
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// some returns up to n layers of a world, from which a user can look down.
func (w *world) some(n int) []*node {
	all := slices.Sorted(maps.Keys(w.nodes))
	w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out []*node
	for _, id := range all[:min(n, len(all))] {
		out = append(out, w.nodes[id])
	}
	return out
}

func TestLayersOfMadeUpMachinesAreWhatTheyAre(t *testing.T) {
	kinds := map[string]int{}
	for seed := range worlds(t) {
		w := newWorld(t, seed)
		for _, top := range w.some(30) {
			var layers []result.Layer
			var err error
			switch {
			case strings.HasPrefix(top.ID, "fs:"):
				layers, err = w.system().Layers(filepath.Join(mountPoint(top), pick(w, "", "dir", "some/dir")))
			case top.dir != "":
				var major, minor int
				if _, err := fmt.Sscanf(top.Number, "%d:%d", &major, &minor); err != nil {
					t.Fatal(err)
				}
				layers, err = w.system().DeviceLayers(major, minor)
			default:
				continue
			}
			if err != nil {
				t.Fatalf("world %d: %s: %v", seed, top.ID, err)
			}
			compare(t, w, top, layers)
			if t.Failed() {
				t.Fatalf("world %d, from %s:\n%+v\n%s", seed, top.ID, layers, strings.Join(w.mounts, "\n"))
			}
			kinds[top.Type] += len(layers)
		}
		var disks []string
		for id, n := range w.nodes {
			if n.dir != "" && n.Kind == result.DiskLayer {
				disks = append(disks, id)
			}
		}
		slices.Sort(disks)
		if got := w.system().Disks(); !slices.Equal(got, disks) {
			t.Fatalf("world %d: the disks are %q, want %q", seed, got, disks)
		}
		if err := os.RemoveAll(w.root); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"ext4", "btrfs", "overlay", "zfs", "tmpfs", "loop", "partition", "raid1", "lvm", "nvme-multipath"} {
		if kinds[kind] == 0 {
			t.Errorf("no world has %s: the generator is broken", kind)
		}
	}
}

func compare(t *testing.T, w *world, top *node, layers []result.Layer) {
	t.Helper()
	var ids []string
	for _, l := range layers {
		ids = append(ids, l.ID)
	}
	if len(ids) == 0 || ids[0] != top.ID {
		t.Errorf("the first of %q is not %q", ids, top.ID)
		return
	}
	slices.Sort(ids)
	if want := w.closure(top); !slices.Equal(ids, want) {
		t.Errorf("below %q\ngot  %q\nwant %q", top.ID, ids, want)
		return
	}
	for _, l := range layers {
		want := w.nodes[l.ID]
		if strings.HasPrefix(want.Options, "rw,relatime") && want.Type == "overlay" && len(want.Below) > 0 && len(l.Below) > 0 && l.Below[0] != want.Below[0] {
			t.Errorf("%s: the upper directory is %s, want %s", l.ID, l.Below[0], want.Below[0])
		}
		if noted := l.Note != ""; want.noted && !noted {
			t.Errorf("%s says nothing", l.ID)
		}
		got, truth := l, want.Layer
		got.Note, got.Below, truth.Below = "", sorted(l.Below), sorted(want.Below)
		if g, w := fmt.Sprint(show(got)), fmt.Sprint(show(truth)); g != w {
			t.Errorf("%s\ngot  %s\nwant %s", l.ID, g, w)
		}
	}
	if got := result.Copies(layers); math.Abs(float64(got)-top.total) > 0.501 {
		t.Errorf("%s: %d copies, want %g", top.ID, got, top.total)
	}
	if cause, ok := result.InMemory(layers); ok != top.InMemory || ok && !cause.InMemory {
		t.Errorf("%s: in memory %t, want %t", top.ID, ok, top.InMemory)
	}
	if mode, why := DirectBelow(layers); mode != top.direct[0] || (why == "") != (mode == result.Direct) {
		t.Errorf("%s: direct I/O is %s (%s), want %s", top.ID, mode, why, top.direct[0])
	}
}

func sorted(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return out
}

// show writes a layer with what its pointers point to.
func show(l result.Layer) string {
	pointers := ""
	for _, p := range []*bool{l.DirectIO, l.FUA, l.Rotational} {
		if p == nil {
			pointers += " ?"
			continue
		}
		pointers += fmt.Sprintf(" %t", *p)
	}
	if l.DiscardMaxBytes != nil {
		pointers += fmt.Sprint(" ", *l.DiscardMaxBytes)
	}
	l.DirectIO, l.FUA, l.Rotational, l.DiscardMaxBytes = nil, nil, nil, nil
	return fmt.Sprintf("%+v%s", l, pointers)
}

package result

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestChangesOfLayersAreNamed(t *testing.T) {
	before := []Layer{{ID: "fs:/", Kind: FilesystemLayer, Options: "rw"}, {ID: "loop0", Kind: LoopLayer, DirectIO: new(true), IOStats: true}, {ID: "sda", Kind: DiskLayer}}
	after := []Layer{{ID: "fs:/", Kind: FilesystemLayer, Options: "rw,nobarrier"}, {ID: "loop0", Kind: LoopLayer, DirectIO: new(false)}, {ID: "sdb", Kind: DiskLayer}}
	const begin = "the storage changed during the trial: "
	want := []string{
		begin + `options of fs:/ was "rw" and is "rw,nobarrier"`, begin + "directIO of loop0 was true and is false",
		begin + "ioStats of loop0 was true and is not set", begin + "sda is gone", begin + "sdb is new",
	}
	if got := LayerChanges(before, after); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := LayerChanges(before, before); len(got) > 0 {
		t.Errorf("nothing changed, and it tells %q", got)
	}
	var many []Layer
	for i := range 100 {
		many = append(many, Layer{ID: fmt.Sprint(i), Options: strings.Repeat("x", 100_000)})
	}
	if got := LayerChanges(nil, many); len(got) != maxChanges {
		t.Errorf("it tells %d changes", len(got))
	}
	if got := LayerChanges([]Layer{{ID: "0"}}, many[:1]); len(got[0]) > 1000 {
		t.Errorf("a change has %d bytes", len(got[0]))
	}
}

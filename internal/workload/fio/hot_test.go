package fio

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// blocks is a log of so many reads of 4 KiB, each of the block that next says.
func blocks(n int, next func(i int) int) string {
	var b strings.Builder
	b.WriteString("fio version 3 iolog\n0 a add\n0 a open\n")
	for i := range n {
		fmt.Fprintf(&b, "%d a read %d 4096\n", i/1000, 4096*next(i))
	}
	return b.String() + "9 a close\n"
}

func TestReuseIsWhatACacheMustHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it must come again
	for name, c := range map[string]struct {
		log       string
		low, high float64 // in blocks; 0: nothing is known
	}{
		"one block":                    {blocks(1000, func(int) int { return 7 }), 1, 1},
		"each block twenty times":      {blocks(20_000, func(i int) int { return i / 20 }), 1, 1},
		"each block twice":             {blocks(20_000, func(i int) int { return i / 2 }), 0, 0},
		"round and round":              {blocks(20_000, func(i int) int { return i % 256 }), 256, 256},
		"to and fro":                   {blocks(20_000, func(i int) int { return max(i%512, 511-i%512) - 256 }), 200, 256},
		"by chance":                    {blocks(20_000, func(int) int { return r.IntN(256) }), 220, 256},
		"each only once":               {blocks(20_000, func(i int) int { return i }), 0, 0},
		"all but a few of four blocks": {blocks(20_000, func(i int) int { return []int{i % 4, 1000 + i}[min(1, i%20/19)] }), 4, 5},
		"nine new ones of ten":         {blocks(20_000, func(i int) int { return []int{i, 0}[min(1, i%10/9)] }), 0, 0},
		"nothing":                      {"fio version 3 iolog\n", 0, 0},
		"what is no log":               {"a read x 4096\nread 1 2\n\x00\n", 0, 0},
	} {
		got, err := reuse(strings.NewReader(c.log), 4096)
		if n := got["read"] / 4096; err != nil || n < c.low || n > c.high {
			t.Errorf("%s: %g blocks, want %g to %g: %v", name, n, c.low, c.high, err)
		}
	}
	// Of a mixture, each operation has its own; a cache holds what either used.
	got, err := reuse(strings.NewReader(strings.Repeat("a read 0 4096\nb write 0 4096\nb trim 8192 4096\n", 500)), 4096)
	if err != nil || got["read"] != 3*4096 || got["write"] != 3*4096 || got["trim"] != 3*4096 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheJobsHotBytesAreRecorded(t *testing.T) {
	const mib = 1 << 20
	reads := func(mib ...float64) (out rehearsal) {
		for _, n := range mib {
			out.Reuse = append(out.Reuse, map[string]float64{"read": n * (1 << 20)})
		}
		return out
	}
	const plain = "[a]\nrw=randread\nsize=64m\n"
	both := rehearsal{Reuse: []map[string]float64{{"read": mib, "write": 2 * mib}}}
	for name, c := range map[string]struct {
		text              string
		mode              trial.Mode
		shown             rehearsal
		read, write, trim float64 // MiB; 0: not recorded
	}{
		"one":                 {plain, trial.Filesystem, reads(0.5), 0.5, 0, 0},
		"clones":              {plain + "numjobs=4\n", trial.Filesystem, reads(0.5), 2, 0, 0},
		"clones on one file":  {plain + "numjobs=4\nfilename=x\n", trial.Filesystem, reads(20), 0, 0, 0},
		"clones on one part":  {"[a]\nrw=randread\nsize=1m\nnumjobs=16\n", trial.Block, reads(1), 1, 0, 0},
		"clones, each a part": {"[a]\nrw=randread\nsize=1m\nnumjobs=16\noffset_increment=1m\n", trial.Block, reads(1), 16, 0, 0},
		"most of the file":    {plain, trial.Filesystem, reads(60), 0, 0, 0},
		"nothing is known":    {plain, trial.Filesystem, reads(0), 0, 0, 0},
		"no rehearsal":        {plain, trial.Filesystem, rehearsal{}, 0, 0, 0},
		"one that is not":     {plain + "[b]\nrw=read\nsize=32m\n", trial.Filesystem, reads(0.5, 0), 32.5, 0, 0},
		"a writer beside":     {plain + "[b]\nrw=write\nsize=64m\n", trial.Filesystem, reads(0.5), 0.5, 64, 0},
		"both":                {"[a]\nrw=randrw\nsize=64m\n", trial.Filesystem, both, 1, 2, 0},
		"the end of a file":   {"[a]\nrw=randread\nsize=1m\noffset=63m\n", trial.Filesystem, reads(1), 1, 0, 0},
		"a part of a device":  {"[a]\nrw=randread\nsize=1m\n[b]\nrw=randwrite\noffset=1m\nsize=2m\n", trial.Block, rehearsal{}, 1, 2, 0},
		"a device":            {"[a]\nrw=randread\n", trial.Block, reads(0), 0, 0, 0},
		"a few of its blocks": {"[a]\nrw=randread\n", trial.Block, reads(0.5), 0.5, 0, 0},
		"some of it unknown":  {"[a]\nrw=randread\nsize=1m\n[b]\nrw=randread\n", trial.Block, reads(0, 0), 0, 0, 0},
		"trims":               {"[a]\nrw=randtrim\nsize=8m\n[b]\nrw=randread\nsize=1m\n", trial.Block, rehearsal{}, 1, 0, 8},
		"trims and writes":    {"[a]\nrw=trimwrite\nsize=8m\n", trial.Block, rehearsal{}, 0, 8, 8},
		"trims of a device":   {"[a]\nrw=trim\n", trial.Block, rehearsal{}, 0, 0, 0},
	} {
		jobs, err := resolve(config{JobFile: c.text, Prefill: prefillAuto}, c.mode, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := result.Metrics{}
		setHot(jobs, c.mode, c.shown, m)
		for op, want := range map[string]float64{"read": c.read, "write": c.write, "trim": c.trim} {
			got := m[op+result.Hot].Value / mib
			if _, recorded := m[op+result.Hot]; recorded != (want > 0) || got != want {
				t.Errorf("%s: %s: %.3f MiB, want %.3f", name, op, got, want)
			}
		}
	}
}

func TestWhatIsReadBeforehandIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode trial.Mode
		want float64 // MiB; 0: not recorded
	}{
		"one":                {"[a]\nrw=read\nsize=64m\npre_read=1\n", trial.Block, 64},
		"clones, and others": {"[a]\nrw=read\nsize=64m\npre_read=1\nnumjobs=2\n[b]\nrw=read\nsize=8m\n", trial.Filesystem, 128},
		"switched off":       {"[a]\nrw=read\nsize=64m\npre_read=0\n", trial.Block, 0},
		"writes":             {"[a]\nrw=write\nsize=64m\npre_read=1\n", trial.Filesystem, 0},
		"an unknown size":    {"[a]\nrw=read\npre_read=1\n[b]\nrw=read\nsize=8m\npre_read=1\n", trial.Block, 0},
	} {
		jobs, err := resolve(config{JobFile: c.text}, c.mode, "w")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		metrics := result.Metrics{}
		setPreRead(jobs, metrics)
		if got := metrics[result.PreReadBytes].Value / (1 << 20); got != c.want {
			t.Errorf("%s: %g MiB, want %g", name, got, c.want)
		}
	}
}

func TestClonesThatGoTogetherAreRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		text        string
		mode        trial.Mode
		read, write float64
	}{
		"one":                             {"[a]\nrw=read\nsize=64m\n", trial.Block, 0, 0},
		"four on a device":                {"[a]\nrw=read\nsize=64m\nnumjobs=4\n", trial.Block, 0.75, 0},
		"four on a file":                  {"[a]\nrw=write\nsize=64m\nnumjobs=4\nfilename=x\n", trial.Filesystem, 0, 0.75},
		"each its file":                   {"[a]\nrw=read\nsize=64m\nnumjobs=4\n", trial.Filesystem, 0, 0},
		"each its part":                   {"[a]\nrw=read\nsize=16m\nnumjobs=4\noffset_increment=16m\n", trial.Block, 0, 0},
		"each its part, in percent":       {"[a]\nrw=read\nsize=25%\nnumjobs=4\noffset_increment=25%\n", trial.Block, 0, 0},
		"by chance":                       {"[a]\nrw=randread\nsize=64m\nnumjobs=4\n", trial.Block, 0, 0},
		"two jobs":                        {"[a]\nrw=read\nsize=64m\n[b]\nrw=read\nsize=32m\n", trial.Block, 0.5, 0},
		"two jobs from other places":      {"[a]\nrw=read\nsize=64m\n[b]\nrw=read\noffset=32m\nsize=32m\n", trial.Block, 0, 0},
		"two jobs, one after the other":   {"[a]\nrw=read\nsize=64m\n[b]\nstonewall\nrw=read\nsize=64m\n", trial.Block, 0, 0},
		"a reader and a writer":           {"[a]\nrw=read\nsize=64m\n[b]\nrw=write\nsize=64m\n", trial.Block, 0, 0},
		"both, with more that do neither": {"[a]\nrw=rw\nsize=64m\nnumjobs=2\n[b]\nrw=randread\nsize=64m\nnumjobs=2\n", trial.Block, 0.25, 0.5},
	} {
		jobs, err := resolve(config{JobFile: c.text, Prefill: prefillAuto}, c.mode, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := result.Metrics{}
		setInStep(jobs, all(jobs), c.mode, m)
		if read, write := m["read"+result.InStep].Value, m["write"+result.InStep].Value; read != c.read || write != c.write {
			t.Errorf("%s: %g of the reads and %g of the writes, want %g and %g", name, read, write, c.read, c.write)
		}
	}
}

// What is mapped goes through the page cache, also with direct=1, which parameters have by default with other engines.
func TestAMappedFileIsNotDirect(t *testing.T) {
	for text, want := range map[string]result.DirectMode{"ioengine=mmap": result.Buffered, "ioengine=mmap direct=1": result.CachedAnyway} {
		jobs, err := resolve(parameters(append(strings.Fields(text), "rw=randread")...), trial.Filesystem, "w")
		if err != nil {
			t.Fatal(err)
		}
		if d, modes := probeDirect(workload.Env{}, jobs); d.Effective != want || d.Requested != (want == result.CachedAnyway) || modes[0] != want {
			t.Errorf("%s: %+v, of the jobs %v", text, d, modes)
		}
	}
}

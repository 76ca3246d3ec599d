package fio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// manyNames are n names of files below a prefix, as a value of filename.
func manyNames(prefix string, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%x", prefix, i)
	}
	return strings.Join(names, ":")
}

// sections are n jobs, each with these options.
func sections(n int, options string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[j%d]\n%s", i, options)
	}
	return b.String()
}

// A chain is jobs of which each shares a file with the next, and the last one overwrites.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[c%d]\nfilename=%x:%x\nrw=write\nfsync=1\n", i, i, i+1)
	}
	return b.String() + fmt.Sprintf("[last]\nfilename=%x\nrw=randwrite\n", n)
}

// A few KB name very many clones of very many files. Work is counted in allocations, as it is the same on any
// machine: a list of the names, or a name that is made, is one.
func TestAShortJobFileIsABoundedAmountOfWork(t *testing.T) {
	const most = 3_000_000
	global := "[global]\nsize=1m\nrw=write\n"
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"more clones and files than there may be":   {global + "numjobs=1024\nfilename=" + manyNames("", maxNames) + "\n" + sections(255, ""), false},
		"regions of a device":                       {global + "offset_increment=1%\nfilename=" + manyNames("/dev/", maxNames) + "\n" + sections(255, ""), true},
		"too many regions of a device":              {global + "offset_increment=1%\nnumjobs=1024\nfilename=" + manyNames("/dev/", maxNames) + "\n" + sections(255, ""), false},
		"as many clones and files as there may be":  {global + "stonewall\nnumjobs=1024\nfilename=" + manyNames("", 240) + "\n" + sections(2, ""), true},
		"jobs that share files one after the other": {global + "nrfiles=1000\nsize=8m\n" + sections(120, "") + chain(120), true},
		"names that resemble others":                {global + sections(200, "wait_for="+strings.Repeat("x", 60)+"\n"), false},
	} {
		raw, err := json.Marshal(config{JobFile: c.text})
		if err != nil {
			t.Fatal(err)
		}
		work := testing.AllocsPerRun(1, func() { err = Engine{}.Check(raw, trial.Filesystem) })
		if good := err == nil; work > most || good != c.good {
			t.Errorf("%s: %.0f allocations, at most %d may be; %v", name, work, most, err)
		}
		if !c.good {
			continue
		}
		work = testing.AllocsPerRun(1, func() {
			_, err = Engine{}.Outline("w", raw, workload.Place{Mode: trial.Filesystem, Room: 1 << 50})
		})
		if work > 3*most || err != nil {
			t.Errorf("%s: %.0f allocations for its outline; %v", name, work, err)
		}
	}
}

package fio

import (
	"encoding/json"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// offering is a configuration of parameters with an offered rate.
func offering(rate int64, pairs ...string) config {
	c := parameters(pairs...)
	c.OfferedRate = rate
	return c
}

func TestOffersOfARateThatAreRefused(t *testing.T) {
	twoJobs := config{JobFile: "[a]\nsize=1m\nruntime=1\n[b]\nsize=1m\nruntime=1\n", OfferedRate: 10}
	arrivals := parameters("rw=read")
	arrivals.Arrivals = "Even"
	sometimes := offering(10, "rw=read")
	sometimes.Arrivals = "Sometimes"
	for name, c := range map[string]struct {
		config  config
		field   string
		message string
	}{
		"a negative rate":             {offering(-1, "rw=read"), "fio.offeredRate", "not between 1 and 1000000"},
		"too high a rate":             {offering(1_000_001, "rw=read"), "fio.offeredRate", "not between 1 and 1000000"},
		"two jobs":                    {twoJobs, "fio.offeredRate", "there are 2"},
		"an option it does not heed":  {offering(10, "rw=read", "thinktime=5"), "fio.offeredRate", "thinktime has no effect"},
		"clones":                      {offering(10, "rw=read", "numjobs=2"), "fio.offeredRate", "numjobs=2"},
		"trims":                       {offering(10, "rw=trim"), "fio.offeredRate", "rw=trim"},
		"blocks of several sizes":     {offering(10, "rw=read", "bs=4k,8k"), "fio.offeredRate", "of one size"},
		"no time":                     {offering(10, "rw=read", "runtime=3", "time_based=0"), "fio.offeredRate", "no runtime"},
		"a sync after several writes": {offering(10, "rw=write", "fsync=8"), "fio.offeredRate", "one write with its sync"},
		"too many outstanding":        {offering(10, "rw=read", "iodepth=257"), "fio.offeredRate", "more than 256"},
		"buffers beyond memory":       {offering(10, "rw=read", "bs=8m", "size=1g"), "fio.offeredRate", "in memory"},
		"too many operations":         {offering(1_000_000, "rw=read", "runtime=1001"), "fio.offeredRate", "more than 1000000000"},
		"arrivals alone":              {arrivals, "fio.arrivals", "without offeredRate"},
		"unknown arrivals":            {sometimes, "fio.arrivals", `no arrivals "Sometimes"`},
	} {
		raw, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		mode := trial.Filesystem
		if strings.Contains(name, "trim") {
			mode = trial.Block
		}
		f := failure(t, Engine{}.Check(raw, mode))
		if f.Field != c.field || !strings.Contains(f.Message, c.message) || f.Remedy == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestAnOpenLoopIsPlannedAsWhatItDoes(t *testing.T) {
	raw, err := json.Marshal(offering(500, "rw=randrw", "rwmixread=75", "bs=8k", "runtime=20", "size=1g"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Engine{}.Outline("w", raw, workload.Place{Mode: trial.Filesystem, Room: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(500 * 20 * 8192 / 4); out.Writes != want || out.Duration.Seconds() != 20 {
		t.Errorf("it writes %d of %d bytes in %s", out.Writes, want, out.Duration)
	}
}

// In an open loop, iodepth is how many I/Os may be outstanding, whatever the engine: nobody says that it has no effect.
func TestTheDepthOfAnOpenLoopHasAnEffect(t *testing.T) {
	const job = "[j]\nrw=read\nbs=4k\nsize=1m\nruntime=1\niodepth=8\nioengine=psync\n"
	for rate, want := range map[int64]bool{0: true, 100: false} {
		_, changes, err := resolveChanged(config{JobFile: job, OfferedRate: rate}, trial.Filesystem, parametersName)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(changes, "\n"), "iodepth=8 of job j has no effect"); got != want {
			t.Errorf("at an offered rate of %d it is said: %t, want %t: %q", rate, got, want, changes)
		}
	}
}

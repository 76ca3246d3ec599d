package fio

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func TestWhatATrialWritesIsKnownUnlessOnlyTimeEndsIt(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		config config
		writes uint64
		open   time.Duration
	}{
		"once over the files":  {config{JobFile: "[a]\nrw=write\nsize=8m\nnumjobs=2"}, 16 * mib, 0},
		"several times":        {config{JobFile: "[a]\nrw=write\nsize=8m\nloops=3"}, 24 * mib, 0},
		"an amount":            {config{JobFile: "[a]\nrw=randwrite\nsize=8m\nio_size=1g"}, 1024 * mib, 0},
		"a number of I/Os":     {config{JobFile: "[a]\nrw=write\nbs=1m\nsize=8m\nnumber_ios=3"}, 3 * mib, 0},
		"reads":                {config{JobFile: "[a]\nrw=randread\nsize=8m"}, 0, 0},
		"a mix":                {config{JobFile: "[a]\nrw=randrw\nrwmixread=75\nsize=8m"}, 2 * mib, 0},
		"until time ends":      {parameters("rw=randwrite", "runtime=10", "ramp_time=5"), 0, 15 * time.Second},
		"at a rate, with time": {parameters("rw=write", "rate=4m", "runtime=10", "numjobs=2"), 80 * mib, 0},
		"at a rate of I/Os":    {parameters("rw=write", "bs=1m", "rate_iops=3", "runtime=10"), 30 * mib, 0},
		"jobs of both kinds":   {config{JobFile: "[a]\nrw=write\nsize=8m\n[b]\nrw=write\nsize=1m\nruntime=7"}, 8 * mib, 7 * time.Second},
	} {
		c.config.Prefill = prefillAuto
		raw, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Engine{}.Outline("w", raw, workload.Place{Mode: trial.Filesystem, Room: math.MaxUint64})
		if err != nil || o.Writes != c.writes || o.WritesFor != c.open {
			t.Errorf("%s: writes %d, and for %s; want %d and %s (%v)", name, o.Writes, o.WritesFor, c.writes, c.open, err)
		}
	}
}

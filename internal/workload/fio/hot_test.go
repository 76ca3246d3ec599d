package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// What fio 3.33 did with 60,000 I/Os of 4 KiB on 64 MiB: in so many blocks, those that it chose most,
// were nine tenths of them. So few I/Os make a wide distribution seem narrower than it is.
func TestHotBlocksAreThoseThatFioChooses(t *testing.T) {
	const file, block = 64 << 20, 4096
	for distribution, seen := range map[string]float64{
		"zipf:2.5": 3, "zipf:1.2": 948, "zipf:0.8": 7573, "pareto:0.2": 5256, "pareto:0.01": 1,
		"zoned:90/1:10/99": 185, "zoned:60/10:30/20:10/70": 4794, "zoned_abs:90/671088:10/": 185,
	} {
		got := hot(distribution, file, block) / block
		if got < 0.85*seen || got > 1.5*seen+1 {
			t.Errorf("%s: nine tenths lie in %.0f blocks, fio has them in %.0f", distribution, got, seen)
		}
	}
	for distribution, want := range map[string]float64{
		"random": 1, "normal:5": 1, "zoned:/": 1, "zoned:50/50:/": 1, "zoned:100/25:/": 0.25, "zoned_abs:100/9663676416:0/": 1,
	} {
		if got := hot(distribution, file, block) / file; got < 0.89*want || got > want {
			t.Errorf("%s: nine tenths lie in %.3f of the file, want %.2f", distribution, got, want)
		}
	}
}

func TestTheJobsHotBytesAreRecorded(t *testing.T) {
	const skewed = "[a]\nrw=randread\nsize=64m\nrandom_distribution=zoned:100/1:0/99\n"
	for name, c := range map[string]struct {
		text        string
		mode        trial.Mode
		read, write float64 // MiB; 0: not recorded
	}{
		"one":                 {skewed, trial.Filesystem, 0.576, 0},
		"clones":              {skewed + "numjobs=4\n", trial.Filesystem, 4 * 0.576, 0},
		"files of a clone":    {skewed + "nrfiles=4\n", trial.Filesystem, 0.576, 0},
		"one that is not":     {skewed + "[b]\nrw=read\nsize=32m\n", trial.Filesystem, 32.576, 0},
		"a writer beside":     {skewed + "[b]\nrw=write\nsize=32m\n", trial.Filesystem, 0.576, 0},
		"both":                {strings.Replace(skewed, "randread", "randrw", 1), trial.Filesystem, 0.576, 0.576},
		"in order":            {"[a]\nrw=read\nsize=64m\nrandom_distribution=zipf:2\n", trial.Filesystem, 0, 0},
		"mostly in order":     {"[a]\nrw=randread\nsize=64m\nrandom_distribution=zipf:2\npercentage_random=10\n", trial.Filesystem, 0, 0},
		"runs of eight":       {"[a]\nrw=randread:8\nsize=64m\nrandom_distribution=zipf:2\n", trial.Filesystem, 0, 0},
		"evenly":              {"[a]\nrw=randread\nsize=64m\nrandom_distribution=random\n", trial.Filesystem, 0, 0},
		"of an unknown size":  {"[a]\nrw=randread\nsize=50%\nrandom_distribution=zipf:2\n", trial.Filesystem, 0, 0},
		"a part of a device":  {"[a]\nrw=randread\nsize=1m\n[b]\nrw=randwrite\noffset=1m\nsize=2m\n", trial.Block, 1, 2},
		"a device":            {"[a]\nrw=randread\n", trial.Block, 0, 0},
		"some of it unknown":  {"[a]\nrw=randread\nsize=1m\n[b]\nrw=randread\n", trial.Block, 0, 0},
		"a device and a skew": {skewed, trial.Block, 0.576, 0},
	} {
		jobs, err := resolve(config{JobFile: c.text, Prefill: prefillAuto}, c.mode, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := result.Metrics{}
		setHot(jobs, c.mode, m)
		for op, want := range map[string]float64{"read": c.read, "write": c.write} {
			got := m[op+result.Hot].Value / (1 << 20)
			if _, recorded := m[op+result.Hot]; recorded != (want > 0) || got < 0.99*want || got > 1.01*want {
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

func TestTheAreaOfTrimsIsRecorded(t *testing.T) {
	for text, want := range map[string]float64{ // MiB; 0: not recorded
		"[a]\nrw=randtrim\nsize=8m\n[b]\nrw=randread\nsize=1m\n": 8, "[a]\nrw=trimwrite\nsize=8m\n": 8, "[a]\nrw=trim\n": 0, "[a]\nrw=randread\nsize=1m\n": 0,
	} {
		jobs, err := resolve(config{JobFile: text}, trial.Block, "w")
		if err != nil {
			t.Fatal(err)
		}
		m := result.Metrics{}
		setHot(jobs, trial.Block, m)
		if got := m["trim"+result.Hot].Value / (1 << 20); got != want {
			t.Errorf("%q: %g MiB, want %g", text, got, want)
		}
	}
}

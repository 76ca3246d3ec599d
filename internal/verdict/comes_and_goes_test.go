package verdict

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// beside is a trial of 30 s that moves 100 MiB a second past the page cache, and what others move in each
// second.
func beside(op string, others func(second int) float64) Facts {
	const rate = 100 << 20
	w := world{copies: 1, direct: true, seconds: 30}
	column := samples.ReadBytes
	if w.reads = 30 * rate; op == "write" {
		w.reads, w.writes, column = 0, 30*rate, samples.WriteBytes
	}
	f := w.facts()
	f.Samples = &samples.Table{}
	begin, foreign := time.Unix(1000, 0), 0.0
	for i := range 300 {
		at := begin.Add(time.Duration(i+1) * 100 * time.Millisecond)
		more := others(i/10) / 10
		foreign += more
		machine, disk, own := f.Samples.Add(at, samples.Machine, ""), f.Samples.Add(at, samples.Disk, "sda"), f.Samples.Add(at, samples.Workload, op)
		for _, row := range []int{machine, disk, own} {
			f.Samples.Set(row, samples.Seconds, 0.1)
		}
		for _, c := range []samples.Column{samples.ReadBytes, samples.WriteBytes} {
			f.Samples.Set(disk, c, 0)
		}
		f.Samples.Set(disk, column, rate/10+more)
		f.Samples.Set(own, samples.Bytes, rate/10)
		f.Samples.Set(own, samples.Count, 100)
	}
	f.scale("device."+op+".bytes", 1.0)
	f.set("device."+op+".bytes", f.value("device."+op+".bytes")+foreign)
	return f
}

func TestANeighbourThatComesAndGoesIsSeen(t *testing.T) {
	some := func(seconds int, rate float64) func(int) float64 {
		return func(second int) float64 {
			if second >= 10 && second < 10+seconds {
				return rate
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		f     Facts
		found bool
	}{
		"four of thirty seconds":              {beside("read", some(4, 30<<20)), true},
		"nobody":                              {beside("read", some(0, 0)), false},
		"a tenth more, which clocks can make": {beside("read", some(30, 4<<20)), false},
		"one second":                          {beside("read", some(1, 30<<20)), false},
		"a journal":                           {beside("write", some(30, 20<<20)), false},
		"somebody who writes much, a part of the time":  {beside("write", some(5, 200<<20)), true},
		"the disk is not counted, whatever samples say": {func() Facts { f := beside("read", some(4, 30<<20)); blind(&f); return f }(), false},
	} {
		verdicts := Judge(c.f)
		if got := find(verdicts, NoisyNeighbour, ""); (got != nil) != c.found {
			t.Errorf("%s: %+v", name, verdicts)
		}
	}
	only := find(Judge(beside("read", some(4, 30<<20))), NoisyNeighbour, "")
	if only == nil || !strings.Contains(only.Sentence, "in 4 of 30 seconds, from 10.0 s to 14.0 s") {
		t.Errorf("it says %+v", only)
	}
}

func TestANeighbourInSomeTrialsIsSeenFromTheOthers(t *testing.T) {
	trial := func(reads, writes, foreignReads, foreignWrites float64) Facts {
		f := world{reads: reads, writes: writes, copies: 1, seconds: 10}.facts()
		f.Measurement.Operations = append(f.Measurement.Operations, "sync")
		f.set("device.read.bytes", f.value("device.read.bytes")+foreignReads, "device.write.bytes", 2.5*f.value("device.write.bytes")+foreignWrites)
		return f
	}
	quiet, busy := trial(0, gib, 0, 0), trial(0, gib, 0, 2*gib)
	for name, c := range map[string]struct {
		f, earlier Facts
		found      bool
	}{
		"only quiet ones":                {quiet, quiet, false},
		"this one":                       {busy, quiet, true},
		"an earlier one":                 {quiet, busy, true},
		"half as much work":              {trial(0, gib/2, 0, 0), quiet, false},
		"somebody who reads":             {trial(0, gib, gib, 0), quiet, true},
		"somebody who reads a little":    {trial(0, gib, 1<<20, 0), quiet, false},
		"memory answered an earlier one": {trial(gib, 0, 0, 0), func() Facts { f := trial(gib, 0, 0, 0); f.scale("device.read.bytes", 0.1); return f }(), false},
		"the first makes its files": {func() Facts {
			f := trial(0, gib, 0, 0)
			f.Measurement.Files = []result.FileChoice{{Files: result.AsFound}}
			return f
		}(), busy, false},
	} {
		c.f.Earlier = []result.Metrics{maps.Clone(quiet.Measurement.Metrics), maps.Clone(c.earlier.Measurement.Metrics)}
		if strings.HasPrefix(name, "memory") {
			c.f.Earlier = c.f.Earlier[1:]
		}
		verdicts := Judge(c.f)
		found := slices.ContainsFunc(verdicts, func(v result.Verdict) bool {
			return v.Name == NoisyNeighbour && strings.Contains(v.Sentence, "some of the trials")
		})
		if found != c.found {
			t.Errorf("%s: %+v", name, verdicts)
		}
	}
}

// Whatever a workload reads, what the disks write meanwhile is somebody else's, but for the little
// that a file system writes for itself.
func TestWhatIsWrittenBesideAWorkloadThatOnlyReadsIsNotItsOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		w := randomWorld(r)
		w.reads, w.writes, w.fromCache, w.direct = max(w.reads, w.writes), 0, 0, true
		for share, want := range map[float64]result.Effect{0: "", 0.1: result.Qualifies, 0.5: result.Invalidates} {
			f := w.facts()
			written := w.reads * share / (1 - share)
			f.Measurement.Metrics.Set("device.write.bytes", result.Bytes, written+metadata)
			got := find(Judge(f), NoisyNeighbour, "read")
			// Of little data, what a file system may write for itself is a large share.
			small := w.reads < 100*metadata
			switch {
			case want == "" && got != nil:
				t.Fatalf("world %d, %+v: accused of %+v", i, w, got)
			case want != "" && got == nil && !small, want != "" && got != nil && got.Effect != want && !small:
				t.Fatalf("world %d, %+v: of a share of %g is said %+v, want %s", i, w, share, got, want)
			}
		}
	}
}

// Of a workload with bursts, the tool's own rates may be in another second than what the disks did: nobody else was there.
func TestBurstsAreNoNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		others float64
		found  bool
	}{"nobody": {0, false}, "somebody beside them": {40 << 20, true}} {
		f := beside("read", func(int) float64 { return c.others })
		for row, scope := range f.Samples.Scope {
			burst := func(second int) float64 { return 2 * float64(second%2) }
			second := row / 3 / 10
			switch scope {
			case samples.Disk:
				f.Samples.Set(row, samples.ReadBytes, burst(second)*(100<<20)/10+c.others/10)
			case samples.Workload:
				f.Samples.Set(row, samples.Bytes, burst(second+1)*(100<<20)/10)
			}
		}
		if v := Judge(f); (find(v, NoisyNeighbour, "") != nil) != c.found {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

package verdict

import (
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// tenth is what happened in a tenth of a second: how much of 10 MiB the job moved, what others read meanwhile, and for how long a
// CPU quota stopped the job.
type tenth struct{ own, foreign, stopped float64 }

// oneAfterOther are the facts of two jobs with direct I/O: job-0 reads for 20 s, and then job-1 writes for 20 s.
func oneAfterOther(job1 func(tenths int, t *tenth)) Facts {
	const each, usual = 200, 10 << 20
	f := jobsOf(jobOfWorld{operation: "read", bytes: each * usual, direct: true}, jobOfWorld{operation: "write", bytes: each * usual, direct: true})
	m := &f.Measurement
	f.Samples = &samples.Table{}
	begin, moved := time.Unix(1000, 0), [2]float64{}
	for i := range 2 * each {
		at, op, now := begin.Add(time.Duration(i+1)*100*time.Millisecond), "read", tenth{own: 1}
		if i >= each {
			op = "write"
			job1(i-each, &now)
		}
		read, written := now.foreign, usual*now.own
		if op == "read" {
			read, written = read+written, 0
		}
		machine, disk, own := f.Samples.Add(at, samples.Machine, ""), f.Samples.Add(at, samples.Disk, "sda"), f.Samples.Add(at, samples.Workload, op)
		for _, row := range []int{machine, disk, own} {
			f.Samples.Set(row, samples.Seconds, 0.1)
		}
		f.Samples.Set(machine, samples.CgroupThrottledSeconds, now.stopped)
		for c, v := range map[samples.Column]float64{samples.ReadBytes: read, samples.WriteBytes: written, samples.ReadCount: read / 65536, samples.WriteCount: written / 65536, samples.FlushCount: 0, samples.QueueDepth: 4} {
			f.Samples.Set(disk, c, v)
		}
		f.Samples.Set(own, samples.Bytes, usual*now.own)
		f.Samples.Set(own, samples.Count, 160*now.own)
		moved = [2]float64{moved[0] + read, moved[1] + written}
	}
	m.Metrics.Set("device.seconds", result.Seconds, 40)
	m.Metrics.Set("read.bandwidth", result.BytesPerSecond, each*usual/40)
	m.Metrics.Set("write.bandwidth", result.BytesPerSecond, each*usual/40)
	m.Metrics.Set("device.read.bytes", result.Bytes, moved[0])
	m.Metrics.Set("device.write.bytes", result.Bytes, moved[1])
	for i := range m.Parts {
		p := &m.Parts[i]
		p.StartedAt = begin.Add(time.Duration(i) * 20 * time.Second)
		p.EndedAt = p.StartedAt.Add(20 * time.Second)
		p.Metrics.Set(p.Operations[0]+".bandwidth", result.BytesPerSecond, 10*usual)
	}
	return f
}

// What happens in the time of one job is said of that job, however little of the trial that is.
func TestAJobThatRanAloneIsJudgedByItsTime(t *testing.T) {
	quiet := func(int, *tenth) {}
	neighbour := func(i int, t *tenth) {
		if i >= 100 && i < 130 {
			t.foreign = 3.5 * (1 << 20)
		}
	}
	for name, c := range map[string]struct {
		f       Facts
		verdict string
		want    result.Effect
	}{
		"nothing happens":     {oneAfterOther(quiet), NotSteady, ""},
		"a limit":             {changed(oneAfterOther(quiet), func(f *Facts) { f.set("limit.write.bytes", 105.0*(1<<20)) }), Throttled, result.Qualifies},
		"a limit beyond it":   {changed(oneAfterOther(quiet), func(f *Facts) { f.set("limit.write.bytes", 150.0*(1<<20)) }), Throttled, ""},
		"a neighbour":         {oneAfterOther(neighbour), NoisyNeighbour, result.Qualifies},
		"a CPU quota":         {oneAfterOther(func(_ int, t *tenth) { t.stopped = 0.03 }), CPUThrottled, result.Invalidates},
		"half as fast":        {oneAfterOther(func(i int, t *tenth) { t.own = []float64{1, 0.5}[i/100] }), NotSteady, result.Qualifies},
		"it stands still":     {oneAfterOther(func(i int, t *tenth) { t.own = []float64{1, 0}[min(1, i/150)] }), NotSteady, result.Qualifies},
		"what a job had left": {changed(oneAfterOther(neighbour), func(f *Facts) { f.Measurement.Parts[0] = toMemory(f.Measurement.Parts[0]) }), NoisyNeighbour, ""},
		"when is not known":   {changed(oneAfterOther(neighbour), func(f *Facts) { f.Measurement.Parts[1].EndedAt = time.Time{} }), NoisyNeighbour, ""},
		"both at once": {changed(oneAfterOther(neighbour), func(f *Facts) {
			f.Measurement.Parts[0].EndedAt = f.Measurement.Parts[1].EndedAt
		}), NoisyNeighbour, ""},
		"no samples": {changed(oneAfterOther(neighbour), func(f *Facts) { f.Samples = nil }), NoisyNeighbour, ""},
	} {
		verdicts := Judge(c.f)
		if got := effectOn(verdicts, c.verdict, "job-1"); got != c.want {
			t.Errorf("%s: the effect of %s is %q, want %q: %+v", name, c.verdict, got, c.want, verdicts)
		}
		if got := effectOn(verdicts, c.verdict, "job-0"); got != "" {
			t.Errorf("%s: %s is also on the job before: %+v", name, c.verdict, verdicts)
		}
	}
}

// Where a fast job follows a slow one, samples of the disk and of the jobs are of different moments, which is no neighbour: rows that
// ran alone are looked at, and not the trial.
func TestJobsThatTakeTurnsAreNoNeighbours(t *testing.T) {
	f := oneAfterOther(func(i int, now *tenth) {
		if i < 60 {
			now.foreign = 5 << 20
		}
	})
	if v := comesAndGoes(&f); v != nil {
		t.Errorf("the trial is judged: %+v", v)
	}
	f.Measurement.Input = strings.ReplaceAll(f.Measurement.Input, "stonewall=1\n", "")
	if v := comesAndGoes(&f); v == nil {
		t.Error("of jobs that run at once, nothing is said")
	}
}

func changed(f Facts, change func(*Facts)) Facts {
	change(&f)
	return f
}

// toMemory makes a part one that writes to memory.
func toMemory(p result.Part) result.Part {
	p.Direct, p.Operations = result.Buffered, []string{"write"}
	p.Metrics.Set("write.bytes", result.Bytes, p.Metrics["read.bytes"].Value)
	return p
}

// leftFor are the facts of a job that writes 64 MiB to memory in 30 ms, and one that goes on for a minute, at once or after it. The
// kernel writes what the first one left in a second of that time.
func leftFor(second int, other string, atOnce bool) Facts {
	const own, each = 64 << 20, 50 << 20
	f := jobsOf(jobOfWorld{operation: "write", bytes: own}, jobOfWorld{operation: other, bytes: 60 * each, direct: true})
	f.Samples = &samples.Table{}
	begin := time.Unix(1000, 0)
	for i := range 60 {
		at := begin.Add(time.Duration(i+1) * time.Second)
		machine, disk, row := f.Samples.Add(at, samples.Machine, ""), f.Samples.Add(at, samples.Disk, "sda"), f.Samples.Add(at, samples.Workload, other)
		moved := map[string]float64{other: each}
		if i == second {
			moved["write"] += own
		}
		for _, r := range []int{machine, disk, row} {
			f.Samples.Set(r, samples.Seconds, 1)
		}
		f.Samples.Set(disk, samples.ReadBytes, moved["read"])
		f.Samples.Set(disk, samples.WriteBytes, moved["write"])
		f.Samples.Set(row, samples.Bytes, each)
		f.Samples.Set(row, samples.Count, each/4096)
	}
	parts := f.Measurement.Parts
	parts[0].Metrics.Set("write.bandwidth", result.BytesPerSecond, own/0.03)
	parts[1].StartedAt, parts[1].EndedAt = begin.Add(100*time.Millisecond), begin.Add(60*time.Second)
	if atOnce {
		parts[0].StartedAt, parts[0].EndedAt = parts[1].StartedAt, parts[1].EndedAt
	}
	return f
}

// What a job left in memory is not on the disk because the kernel wrote it while another job ran.
func TestWhatAJobLeftIsSaidAlsoIfTheKernelWroteItLater(t *testing.T) {
	for name, c := range map[string]struct {
		f    Facts
		want result.Effect
	}{
		"before one that reads":      {leftFor(31, "read", false), result.Invalidates},
		"before one that writes":     {leftFor(31, "write", false), result.Invalidates},
		"beside one that reads":      {leftFor(31, "read", true), result.Invalidates},
		"beside one that writes":     {leftFor(31, "write", true), result.Invalidates},
		"a disk that had it in time": {changed(leftFor(0, "read", false), func(f *Facts) { f.Measurement.Parts[1].StartedAt = f.Measurement.Parts[1].StartedAt.Add(time.Second) }), ""},
		"it syncs what it writes": {changed(leftFor(31, "read", false), func(f *Facts) {
			f.Measurement.Input = strings.Replace(f.Measurement.Input, "[job-0]\n", "[job-0]\nend_fsync=1\n", 1)
		}), ""},
		"a file system mounted to sync": {changed(leftFor(31, "read", false), func(f *Facts) { f.Target.Layers[0].Options = "rw,sync" }), ""},
		"without samples":               {changed(leftFor(31, "read", false), func(f *Facts) { f.Samples = nil }), ""},
		"with a ramp before what counts": {changed(leftFor(31, "read", false), func(f *Facts) {
			f.Measurement.Input = strings.Replace(f.Measurement.Input, "[job-0]\n", "[job-0]\nstartdelay=2\n", 1)
		}), ""},
	} {
		v := Judge(c.f)
		if got := effectOn(v, FromMemory, "job-0"); got != c.want {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.want, v)
		}
		if got := effectOn(v, FromMemory, "job-1"); got != "" {
			t.Errorf("%s: the other one is accused: %+v", name, v)
		}
	}
}

// Of jobs that run at once, each is as steady as its own rates, whatever those of both together are.
func TestJobsAtOnceAreSteadyOrNotByThemselves(t *testing.T) {
	const seconds = 20
	for name, c := range map[string]struct {
		options string
		rate    func(second int) float64
		seen    bool
	}{
		"steady":            {"runtime=20\ntime_based=1\n", func(int) float64 { return 100 }, false},
		"three times":       {"runtime=20\ntime_based=1\n", func(i int) float64 { return 100 + 200*float64(i/10) }, true},
		"it stands still":   {"runtime=20\ntime_based=1\n", func(i int) float64 { return 100 * min(1, float64((i-7)*(i-8))) }, true},
		"of other lengths":  {"time_based=1\n", func(i int) float64 { return 100 + 200*float64(i/10) }, false},
		"beside a search":   {"runtime=20\ntime_based=1\nlatency_target=5\n", func(i int) float64 { return 100 + 200*float64(i/10) }, false},
		"until it was done": {"runtime=20\n", func(i int) float64 { return 100 + 200*float64(i/10) }, false},
	} {
		f := jobsOf(jobOfWorld{operation: "read", bytes: 1 << 30, direct: true}, jobOfWorld{operation: "write", bytes: 1 << 30, direct: true})
		f.Measurement.Input = strings.NewReplacer("stonewall=1\n", c.options).Replace(f.Measurement.Input)
		for i := range seconds {
			end := time.Unix(1001+int64(i), 0)
			f.Measurement.Rates = append(f.Measurement.Rates, result.Rate{Job: "job-0", Operation: "read", End: end, Seconds: 1, Count: 1e5})
			if n := c.rate(i); n > 0 { // fio notes nothing of others
				f.Measurement.Rates = append(f.Measurement.Rates, result.Rate{Job: "job-1", Operation: "write", End: end, Seconds: 1, Count: n})
			}
		}
		if v := find(Judge(f), NotSteady, "write"); (v != nil) != c.seen || c.seen && (len(v.Parts) != 1 || v.Parts[0] != "job-1") {
			t.Errorf("%s: %+v", name, v)
		}
		if v := find(Judge(f), NotSteady, "read"); v != nil {
			t.Errorf("%s: the other job: %+v", name, v)
		}
	}
}

// Of jobs that do the same at once, the trial has a row, too: what is said of it is not said of a job that was steady.
func TestAJobIsNotAccusedForTheSum(t *testing.T) {
	f := jobsOf(jobOfWorld{operation: "read", bytes: 1 << 30, direct: true}, jobOfWorld{operation: "read", bytes: 1 << 30, direct: true})
	m := &f.Measurement
	m.PartsOnly, m.Operations = false, []string{"read"}
	m.Input = strings.ReplaceAll(m.Input, "stonewall=1\n", "runtime=20\ntime_based=1\n")
	went("read", 20, 1, func(i int) float64 { return 200 + 200*float64(i/10) })(&f)
	for i := range 20 {
		end := time.Unix(1001+int64(i), 0)
		m.Rates = append(m.Rates, result.Rate{Job: "job-0", Operation: "read", End: end, Seconds: 1, Count: 100}, result.Rate{Job: "job-1", Operation: "read", End: end, Seconds: 1, Count: 100 + 200*float64(i/10)})
	}
	rows := map[string]bool{}
	for _, v := range Judge(f) {
		if v.Name == NotSteady {
			for _, row := range v.Parts {
				rows[row] = true
			}
		}
	}
	if len(rows) != 2 || !rows[""] || !rows["job-1"] {
		t.Errorf("%v; want that of both, and job-1", rows)
	}
}

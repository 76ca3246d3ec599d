package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// jobOfWorld is a job whose truth is known: memory had a share of what it moved.
type jobOfWorld struct {
	operation      string
	bytes, memory  float64
	direct, synced bool
	// text is what its section says beside that, and metrics what only it has.
	text    string
	metrics map[string]float64
}

func (j jobOfWorld) open() bool { return !j.direct && (j.operation == "read" || !j.synced) }

// jobsOf returns the facts of a trial with such jobs, which ran one after the other.
func jobsOf(jobs ...jobOfWorld) Facts {
	var reads, writes, read, written float64
	for _, j := range jobs {
		if j.operation == "read" {
			reads, read = reads+j.bytes, read+j.bytes*(1-j.memory)
		} else {
			writes, written = writes+j.bytes, written+j.bytes*(1-j.memory)
		}
	}
	f := world{reads: reads, writes: writes, copies: 1, seconds: 10}.facts()
	m := &f.Measurement
	m.Metrics.Set("device.read.bytes", result.Bytes, read)
	m.Metrics.Set("device.write.bytes", result.Bytes, written)
	m.Metrics.Set("device.drain.bytes", result.Bytes, writes-written)
	m.PartsOnly = true
	m.DirectIO = &result.DirectIO{Requested: true, Effective: result.Direct, Evidence: "some of the jobs do not ask for it"}
	for i, j := range jobs {
		p := result.Part{Name: fmt.Sprintf("job-%d", i), Operations: []string{j.operation}, Metrics: result.Metrics{}, Direct: result.Buffered}
		text := fmt.Sprintf("[%s]\nrw=rand%s\nstonewall=1\n%s", p.Name, j.operation, j.text)
		if j.direct {
			p.Direct, text = result.Direct, text+"direct=1\n"
		}
		if j.synced {
			text += "end_fsync=1\n"
		}
		p.Metrics.Set(j.operation+".bytes", result.Bytes, j.bytes)
		p.Metrics.Set(j.operation+".bandwidth", result.BytesPerSecond, j.bytes)
		p.Metrics.Set(j.operation+".iops", result.PerSecond, j.bytes/4096)
		p.Metrics.Set(j.operation+".latency.mean", result.Seconds, 1e-4)
		p.Metrics.Set(j.operation+".latency.p50", result.Seconds, 1e-4)
		for name, v := range j.metrics {
			p.Metrics.Set(name, result.Count, v)
		}
		m.Parts, m.Input = append(m.Parts, p), m.Input+text
	}
	return f
}

// effectOn is the effect of a verdict on a row; "": it has none.
func effectOn(verdicts []result.Verdict, name, row string) result.Effect {
	for _, v := range verdicts {
		if v.Name == name && v.OnRow(row) {
			return v.Effect
		}
	}
	return ""
}

// Of several jobs, each is told from memory by what it and the others are, whatever the mixture is.
func TestEachJobIsToldFromMemory(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 35))
		jobs := make([]jobOfWorld, 2+r.IntN(3))
		openOf, anything, all := map[string]int{}, false, 0.0
		for i := range jobs {
			j := jobOfWorld{operation: []string{"read", "write"}[r.IntN(2)], bytes: math.Exp2(22 + 12*r.Float64()), direct: r.IntN(2) == 0, synced: r.IntN(3) == 0}
			if j.open() {
				openOf[j.operation]++
				j.memory = []float64{0, 0, 1, r.Float64()}[r.IntN(4)]
			}
			anything, all = anything || j.memory > 0, all+j.bytes
			jobs[i] = j
		}
		verdicts := Judge(jobsOf(jobs...))
		for i, j := range jobs {
			got, name := effectOn(verdicts, FromMemory, fmt.Sprintf("job-%d", i)), fmt.Sprintf("seed %d, job %d of %+v", seed, i, jobs)
			switch {
			case (!anything || !j.open()) && got != "":
				t.Errorf("%s: it is accused: %s", name, got)
			case j.memory*j.bytes > 0.15*j.bytes+uncertain*all && got == "":
				t.Errorf("%s: nothing is said", name)
			case openOf[j.operation] == 1 && j.open() && j.memory > 0.51 && got != result.Invalidates:
				t.Errorf("%s: no other job can have been in memory, and it is %s", name, got)
			case openOf[j.operation] == 1 && j.open() && j.memory < 0.09 && got != "":
				t.Errorf("%s: it is accused: %s", name, got)
			}
		}
	}
}

// What is missing by rounding, or as metadata, is no job's, however small that one is.
func TestALittleThatIsMissingIsOfNoJob(t *testing.T) {
	f := jobsOf(jobOfWorld{operation: "read", bytes: 8 << 30, direct: true}, jobOfWorld{operation: "read", bytes: 1 << 20, direct: true})
	f.set("device.read.bytes", f.value("device.read.bytes")-900e3)
	if v := Judge(f); effectOn(v, FromMemory, "job-1") != "" {
		t.Errorf("two jobs with direct I/O: %+v", v)
	}
	f = jobsOf(jobOfWorld{operation: "write", bytes: 58 << 30}, jobOfWorld{operation: "write", bytes: 120 << 20})
	f.set("device.write.bytes", f.value("device.write.bytes")-95e6)
	if v := Judge(f); effectOn(v, FromMemory, "job-1") != "" {
		t.Errorf("two jobs through memory: %+v", v)
	}
	f = jobsOf(jobOfWorld{operation: "read", bytes: 8 << 30}, jobOfWorld{operation: "read", bytes: 1 << 20, direct: true})
	f.set("device.read.bytes", 900e3)
	if v := Judge(f); effectOn(v, FromMemory, "job-1") != "" || effectOn(v, FromMemory, "job-0") != result.Invalidates {
		t.Errorf("a job with direct I/O beside one in memory: %+v", v)
	}
}

// What a job asks for and its own numbers are judged as if it were the only one, and stay with it.
func TestAJobIsJudgedByItsOwnTextAndNumbers(t *testing.T) {
	honest := jobOfWorld{operation: "write", bytes: 4 << 30, direct: true}
	small := map[string]float64{result.FilesBytes: 1 << 20}
	for name, c := range map[string]struct {
		job     jobOfWorld
		verdict string
		effect  result.Effect
	}{
		"data that repeats itself":   {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, text: "zero_buffers=1\n"}, DataReduced, result.Qualifies},
		"faster than any disk":       {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, metrics: map[string]float64{"write.latency.p50": 1e-6}}, ImpossibleUncached, result.Invalidates},
		"one small file":             {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, metrics: small}, WorkingSetTooSmall, result.Qualifies},
		"one small file, synced":     {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, text: "fdatasync=1\n", metrics: small}, WorkingSetTooSmall, ""},
		"one small file, one sync":   {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, synced: true, metrics: small}, WorkingSetTooSmall, result.Qualifies},
		"a depth that is not kept":   {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, metrics: map[string]float64{result.DepthAsked: 32, result.DepthKept: 1}}, DepthIgnored, result.Qualifies},
		"clones that go together":    {jobOfWorld{operation: "write", bytes: 64 << 20, direct: true, metrics: map[string]float64{"write" + result.InStep: 0.75}}, WorkingSetTooSmall, result.Qualifies},
		"syncs that make nothing so": {jobOfWorld{operation: "write", bytes: 64 << 20, text: "sync_file_range=write:1\n", metrics: map[string]float64{"sync.ios": 9, "sync.latency.p50": 1e-3}}, UnsafeConfiguration, result.Invalidates},
		"nothing of all that":        {honest, WorkingSetTooSmall, ""},
	} {
		f := jobsOf(honest, jobOfWorld{operation: "write", bytes: 4 << 30, synced: true, text: "fsync=1\n", metrics: map[string]float64{"sync.ios": 9, "sync.latency.p50": 1e-3}}, c.job)
		for i := range f.Measurement.Parts {
			if p := &f.Measurement.Parts[i]; p.Metrics["sync.ios"].Value > 0 {
				p.Operations = append(p.Operations, "sync")
			}
		}
		f.Measurement.Operations = append(f.Measurement.Operations, "sync")
		verdicts := Judge(f)
		if got := effectOn(verdicts, c.verdict, "job-2"); got != c.effect {
			t.Errorf("%s: the effect of %s is %q, want %q: %+v", name, c.verdict, got, c.effect, verdicts)
		}
		for _, other := range []string{"job-0", "job-1", ""} {
			if got := effectOn(verdicts, c.verdict, other); got != "" {
				t.Errorf("%s: %s is also on row %q: %+v", name, c.verdict, other, verdicts)
			}
		}
	}
}

// One small block at a time decides a job's bandwidth, whatever the requests of the others are.
func TestASmallBlockOfOneJobIsSaid(t *testing.T) {
	f := jobsOf(jobOfWorld{operation: "read", bytes: 1 << 30, direct: true}, jobOfWorld{operation: "read", bytes: 64 << 20, direct: true})
	m := &f.Measurement
	m.Metrics.Set("device.read.count", result.Count, 1<<10) // of 1 MiB, as most are
	m.Input = strings.ReplaceAll(m.Input, "rw=randread", "rw=read")
	for i, block := range []float64{1 << 20, 8 << 10} {
		p := &m.Parts[i]
		p.Histograms = result.Histograms{"read": histogramOf(p.Metrics["read.bytes"].Value / block)}
		p.Metrics.Set("read.latency.mean", result.Seconds, block/p.Metrics["read.bandwidth"].Value)
	}
	verdicts := Judge(f)
	if large, little := effectOn(verdicts, BlockSizeLimited, "job-0"), effectOn(verdicts, BlockSizeLimited, "job-1"); large != "" || little != result.Qualifies {
		t.Errorf("blocks of 1 MiB: %q, of 8 KiB: %q", large, little)
	}
}

// histogramOf is one of n I/Os.
func histogramOf(n float64) *histogram.Histogram {
	h := &histogram.Histogram{}
	h.Add(1000, uint64(n))
	return h
}

// A loop device whose file is in memory for one job is not so for the trial.
func TestAJobThatALowerCacheServedIsSaid(t *testing.T) {
	f := jobsOf(jobOfWorld{operation: "read", bytes: 4 << 30, direct: true}, jobOfWorld{operation: "read", bytes: 64 << 20, direct: true})
	buffered := false
	f.Target.Layers = []result.Layer{{ID: "loop0", Kind: result.LoopLayer, DirectIO: &buffered, Below: []string{"sda"}}, {ID: "sda", Kind: result.DiskLayer, Type: "scsi", IOStats: true}}
	f.Target.FilesystemType = ""
	m := f.Measurement.Metrics
	m.Set("below.read.bytes", result.Bytes, m["read.bytes"].Value)
	m.Set("below.write.bytes", result.Bytes, 0)
	if v := Judge(f); effectOn(v, CachedBelow, "job-0") != "" || effectOn(v, CachedBelow, "job-1") != "" {
		t.Errorf("all of it came from the disk: %+v", v)
	}
	m.Set("below.read.bytes", result.Bytes, 4<<30)
	v := Judge(f)
	if large, small := effectOn(v, CachedBelow, "job-0"), effectOn(v, CachedBelow, "job-1"); large != "" || small != result.Qualifies {
		t.Errorf("64 MiB less than both jobs read: %q of 4 GiB, %q of 64 MiB: %+v", large, small, v)
	}
}

// Where a file system compresses, nobody knows which job's data that was.
func TestJobsOnAFileSystemThatCompressesShareWhatIsMissing(t *testing.T) {
	for _, operation := range []string{"read", "write"} {
		f := jobsOf(jobOfWorld{operation: operation, bytes: 1 << 30, memory: 0.6}, jobOfWorld{operation: operation, bytes: 1 << 30, memory: 0.6, direct: true, synced: true})
		f.Target.FilesystemType, f.Target.Layers[0].Type, f.Target.Layers[0].Options = "btrfs", "btrfs", "compress=zstd"
		f.set("device.drain.bytes", 0.0)
		v := Judge(f)
		for _, row := range []string{"job-0", "job-1"} {
			if got := effectOn(v, DataReduced, row); got != result.Qualifies {
				t.Errorf("%s of %s: %q: %+v", operation, row, got, v)
			}
		}
	}
}

// The sum of jobs is a row of its own, and what is said of it names only what its jobs are.
func TestASumIsWorthWhatItsJobsAre(t *testing.T) {
	f := jobsOf(
		jobOfWorld{operation: "read", bytes: 2 << 30, memory: 1},
		jobOfWorld{operation: "read", bytes: 1 << 30, direct: true},
		jobOfWorld{operation: "read", bytes: 8 << 30, direct: true},
	)
	sum := func(names ...string) {
		p := result.Part{Name: result.SumOf(names), Operations: []string{"read"}, Metrics: result.Metrics{}}
		for _, part := range f.Measurement.Parts {
			if slices.Contains(names, part.Name) {
				p.Metrics.Set("read.bytes", result.Bytes, p.Metrics["read.bytes"].Value+part.Metrics["read.bytes"].Value)
			}
		}
		f.Measurement.Parts = append(f.Measurement.Parts, p)
	}
	sum("job-0", "job-1")
	sum("job-1", "job-2")
	v := Judge(f)
	for row, want := range map[string]result.Effect{"job-0": result.Invalidates, "job-1": "", "job-2": "", "job-0 + job-1": result.Invalidates, "job-1 + job-2": ""} {
		if got := effectOn(v, FromMemory, row); got != want {
			t.Errorf("%s: %q, want %q: %+v", row, got, want, v)
		}
	}
}

// Where it is not known which text is whose, all rows have what is said of the whole.
func TestJobsWithoutTextsShareVerdicts(t *testing.T) {
	for name, change := range map[string]func(*result.Measurement){
		"no text":     func(m *result.Measurement) { m.Input = "" },
		"two alike":   func(m *result.Measurement) { m.Input = strings.ReplaceAll(m.Input, "job-1", "job-0") },
		"other names": func(m *result.Measurement) { m.Input = strings.ReplaceAll(m.Input, "job-1", "x") },
	} {
		f := jobsOf(jobOfWorld{operation: "read", bytes: 1 << 30, memory: 1}, jobOfWorld{operation: "read", bytes: 1 << 30, memory: 1})
		change(&f.Measurement)
		v := Judge(f)
		for _, row := range []string{"job-0", "job-1"} {
			if got := effectOn(v, FromMemory, row); got != result.Invalidates {
				t.Errorf("%s: on %s: %q: %+v", name, row, got, v)
			}
		}
	}
}

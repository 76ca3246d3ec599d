package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// world is a machine whose truth is known: what its workload did, and which share of that the
// disks did. facts are what a runner would see of it.
type world struct {
	reads, writes float64 // bytes of the workload
	// fromCache is the share of the reads that memory served, and dirty that of the writes
	// that was in memory when the clock stopped.
	fromCache, dirty float64
	copies           int
	direct           bool
	seconds          float64
	// overhead is what the file system reads and writes for itself.
	overhead float64
}

func (w world) facts() Facts {
	m := result.Measurement{Metrics: result.Metrics{}}
	for _, d := range []struct {
		op    string
		bytes float64
	}{{"read", w.reads}, {"write", w.writes}} {
		if d.bytes == 0 {
			continue
		}
		m.Operations = append(m.Operations, d.op)
		m.Metrics.Set(d.op+".bytes", result.Bytes, d.bytes)
		m.Metrics.Set(d.op+".bandwidth", result.BytesPerSecond, d.bytes/w.seconds)
		m.Metrics.Set(d.op+".iops", result.PerSecond, d.bytes/4096/w.seconds)
		m.Metrics.Set(d.op+".latency.mean", result.Seconds, w.seconds/(d.bytes/4096))
		m.Metrics.Set(d.op+".latency.p50", result.Seconds, max(3e-6, w.seconds/(d.bytes/4096)))
	}
	m.DirectIO = &result.DirectIO{Effective: result.Buffered, Evidence: "direct is not set"}
	if w.direct {
		m.DirectIO = &result.DirectIO{Requested: true, Effective: result.Direct, Evidence: "it is"}
	}
	m.Metrics.Set("device.seconds", result.Seconds, w.seconds+0.2)
	m.Metrics.Set("device.read.bytes", result.Bytes, w.reads*(1-w.fromCache)+w.overhead)
	m.Metrics.Set("device.read.count", result.Count, w.reads/4096)
	m.Metrics.Set("device.write.bytes", result.Bytes, float64(w.copies)*(w.writes*(1-w.dirty)+w.overhead))
	m.Metrics.Set("device.write.count", result.Count, float64(w.copies)*w.writes/4096)
	m.Metrics.Set("device.drain.bytes", result.Bytes, float64(w.copies)*(w.writes*w.dirty+w.overhead))
	f := Facts{Measurement: m}
	f.Target.FilesystemType = "ext4"
	f.Target.Layers = []result.Layer{{ID: "fs:/data", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"sda"}}}
	if w.copies > 1 {
		f.Target.Layers[0].Below = []string{"md0"}
		mirror := result.Layer{ID: "md0", Kind: result.MappedLayer, Type: "raid1", Copies: w.copies}
		for i := range w.copies {
			mirror.Below = append(mirror.Below, fmt.Sprintf("sd%c", 'a'+i))
		}
		f.Target.Layers = append(f.Target.Layers, mirror)
	}
	for i := range w.copies {
		f.Target.Layers = append(f.Target.Layers, result.Layer{ID: fmt.Sprintf("sd%c", 'a'+i), Kind: result.DiskLayer, Type: "scsi", IOStats: true})
		f.Target.Devices = append(f.Target.Devices, result.Device{Name: fmt.Sprintf("sd%c", 'a'+i)})
	}
	return f
}

// randomWorld returns one whose workload moves between 16 MiB and 64 GiB.
func randomWorld(r *rand.Rand) world {
	w := world{seconds: 1 + 60*r.Float64(), copies: 1 + r.IntN(3), direct: r.IntN(2) == 0, overhead: float64(r.IntN(512 << 10))}
	bytes := func() float64 { return math.Exp2(24 + 12*r.Float64()) }
	switch r.IntN(3) {
	case 0:
		w.reads = bytes()
	case 1:
		w.writes = bytes()
	default:
		w.reads, w.writes = bytes(), bytes()
	}
	if r.IntN(2) == 0 {
		w.fromCache, w.dirty = r.Float64(), r.Float64()
	}
	return w
}

func find(verdicts []result.Verdict, name, op string) *result.Verdict {
	i := slices.IndexFunc(verdicts, func(v result.Verdict) bool { return v.Name == name && v.About(op) })
	if i < 0 {
		return nil
	}
	return &verdicts[i]
}

// In every world the share that memory served decides the verdict, and nothing else is said of
// an honest one.
func TestTheShareOfMemoryDecidesInEveryWorld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lies, honest := 0, 0
	for i := range 20000 {
		w := randomWorld(r)
		verdicts := Judge(w.facts())
		for _, d := range []struct {
			op           string
			bytes, share float64
		}{{"read", w.reads, w.fromCache}, {"write", w.writes, w.dirty}} {
			v := find(verdicts, FromMemory, d.op)
			switch {
			case d.bytes == 0:
				if v != nil && v.Operation == d.op {
					t.Fatalf("world %d, %+v: a verdict on %s, which was not done", i, w, d.op)
				}
			case d.share < 0.09:
				honest++
				if v != nil {
					t.Fatalf("world %d, %+v: %s is accused: %+v", i, w, d.op, v)
				}
			case d.share > 0.55:
				lies++
				if v == nil || v.Effect != result.Invalidates {
					t.Fatalf("world %d, %+v: %s is missed: %+v", i, w, d.op, v)
				}
			case d.share > 0.2 && v == nil:
				t.Fatalf("world %d, %+v: nothing is said of %s", i, w, d.op)
			}
		}
		for _, v := range verdicts {
			if v.Name != FromMemory {
				t.Fatalf("world %d, %+v: accused of %+v", i, w, v)
			}
		}
	}
	if lies < 2000 || honest < 2000 {
		t.Errorf("%d lies and %d honest operations are too few to show anything", lies, honest)
	}
}

// Whatever numbers a trial has, verdicts are well formed: finite evidence, a sentence, at most
// one of a name for an operation, those that invalidate first.
func TestVerdictsOfAnyNumbersAreWellFormed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{
		"read.bytes", "write.bytes", "read.iops", "write.iops", "read.bandwidth", "write.bandwidth", "read.latency.mean", "write.latency.mean", "read.latency.p50",
		"device.read.bytes", "device.write.bytes", "device.drain.bytes", "device.read.count", "device.write.count", "device.read.await", "device.write.await",
		"device.queue.depth", "device.seconds", "below.read.bytes", "below.write.bytes", "others.read.bytes", "cpu.user", "cpu.system", "cpu.throttled", "runner.cpu",
		"background.read.bytes", "limit.read.bytes", "limit.write.count", "zfs.arc.hits", "zfs.arc.misses", "zfs.zil.commits", "zfs.nocacheflush", "sync.ios",
		"files.bytes", "files.thin", "drain.duration", "phase.transactions.duration", "read.errors", "tests.read.bytes", "tests.write.bytes",
	}
	values := []float64{0, 1, -1, 1e-9, 0.5, 1e6, 1e12, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	inputs := []string{"", "[global]\n[a]\nrw=read\n", "[a]\nrw=randread\nnumjobs=4\n", "[a]\nrw=write\nzero_buffers=1\nfsync=1\n", "[a]\nnumjobs=x\n[b]\n"}
	options := []string{"", "rw,nobarrier", "compress=zstd", "rw,barrier=0,volatile"}
	kinds := []result.LayerKind{result.FilesystemLayer, result.LoopLayer, result.DiskLayer, result.MemoryLayer, result.RemoteLayer, ""}
	pick := func(n int) int { return r.IntN(n) }
	seen := map[string]bool{}
	for range 30000 {
		f := Facts{Measurement: result.Measurement{Metrics: result.Metrics{}, Input: inputs[pick(len(inputs))]}}
		for _, name := range names {
			if pick(3) > 0 {
				f.Measurement.Metrics.Set(name, result.Bytes, values[pick(len(values))])
			}
		}
		for _, op := range []string{"read", "write", "sync", "random.read", "create"} {
			if pick(2) == 0 {
				f.Measurement.Operations = append(f.Measurement.Operations, op)
			}
		}
		for i := range pick(4) {
			direct := pick(2) == 0
			f.Target.Layers = append(f.Target.Layers, result.Layer{
				ID: fmt.Sprint("l", i), Kind: kinds[pick(len(kinds))], Options: options[pick(len(options))], InMemory: pick(8) == 0, DirectIO: &direct,
				IOStats: pick(2) == 0, Copies: pick(4), LinkBytesPerSecond: max(0, values[pick(7)]), WriteCache: "write through", DeviceCache: "write back",
				Rotational: new(true), TurnsPerMinute: pick(2) * 7200, Type: []string{"sata", "sas"}[pick(2)],
			})
			f.Target.Devices = append(f.Target.Devices, result.Device{Name: fmt.Sprint("l", i)})
		}
		effective := []result.DirectMode{result.Direct, result.Buffered, result.CachedAnyway}
		f.Measurement.DirectIO = &result.DirectIO{Requested: pick(2) == 0, Effective: effective[pick(len(effective))]}
		verdicts := Judge(f)
		last, had := 0, map[string]bool{}
		for _, v := range verdicts {
			seen[v.Name] = true
			if rank(v.Effect) < last {
				t.Fatalf("%s comes after one that only qualifies", v.Name)
			}
			last = rank(v.Effect)
			if key := v.Name + " " + v.Operation; had[key] {
				t.Fatalf("%s is there twice", key)
			} else {
				had[key] = true
			}
			if !strings.HasSuffix(v.Sentence, ".") || !strings.HasSuffix(v.Settle, ".") || strings.Contains(v.Sentence, "NaN") || strings.Contains(v.Sentence, "Inf") {
				t.Fatalf("%s says %q, and %q", v.Name, v.Sentence, v.Settle)
			}
			for name, metric := range v.Evidence {
				if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) {
					t.Fatalf("%s has %s = %v", v.Name, name, metric.Value)
				}
			}
		}
	}
	if len(seen) < 14 {
		t.Errorf("only these verdicts were found: %v", seen)
	}
}

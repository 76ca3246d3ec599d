package verdict

import (
	"math"
	"slices"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// staged is a trial of which only the last part is measured: in each tenth of a second the disk moves so many bytes, and in
// those from begin to end fio counts so many of its own.
type staged struct {
	input          string
	tenths         int
	begin, end     int
	own            float64
	op             string
	reads, writes  func(tenth int) float64
	direct, laying bool
}

const perTenth = 10 << 20

func (s staged) facts() Facts {
	total := s.own * float64(s.end-s.begin)
	w := world{copies: 1, direct: s.direct, seconds: float64(s.end-s.begin) / 10}
	switch s.op {
	case "read":
		w.reads = total
	case "write":
		w.writes = total
	}
	f := w.facts()
	f.Measurement.Input, f.Measurement.Operations = s.input, []string{s.op}
	f.Measurement.Files = []result.FileChoice{{Files: result.Overwrite}}
	if s.laying {
		f.Measurement.Files[0].Files = result.AsFound
	}
	f.Samples = &samples.Table{}
	var reads, writes float64
	for i := range s.tenths {
		at := time.Unix(1000, 0).Add(time.Duration(i+1) * 100 * time.Millisecond)
		rows := []int{f.Samples.Add(at, samples.Machine, ""), f.Samples.Add(at, samples.Disk, "sda")}
		r, w := 0.0, 0.0
		if s.reads != nil {
			r = s.reads(i)
		}
		if s.writes != nil {
			w = s.writes(i)
		}
		reads, writes = reads+r, writes+w
		for column, v := range map[samples.Column]float64{
			samples.ReadBytes: r, samples.WriteBytes: w, samples.ReadCount: r / 4096, samples.WriteCount: w / 4096, samples.FlushCount: 10, samples.QueueDepth: 1 + w/perTenth,
		} {
			f.Samples.Set(rows[1], column, v)
		}
		if i >= s.begin && i < s.end {
			rows = append(rows, f.Samples.Add(at, samples.Workload, s.op))
			f.Samples.Set(rows[2], samples.Bytes, s.own)
			f.Samples.Set(rows[2], samples.Count, 100)
		}
		for _, row := range rows {
			f.Samples.Set(row, samples.Seconds, 0.1)
		}
	}
	f.set("device.seconds", float64(s.tenths)/10, "device.read.bytes", reads, "device.write.bytes", writes, "device.drain.bytes", 0.0, "device.flush.count", 10*float64(s.tenths))
	f.set("device.queue.depth", 1+writes/float64(s.tenths)/perTenth)
	return f
}

// tenths is a rate that begins in a tenth and ends in another.
func tenths(begin, end int, rate float64) func(int) float64 {
	return func(tenth int) float64 {
		if tenth >= begin && tenth < end {
			return rate
		}
		return 0
	}
}

const ramped = "[j]\nrw=randread\nramp_time=2\n"

func TestWhatComesBeforeTheMeasuredPartIsNeitherANeighbourNorAProof(t *testing.T) {
	honest := staged{input: ramped, tenths: 44, begin: 23, end: 44, own: perTenth, op: "read", reads: tenths(3, 44, perTenth), direct: true}
	change := func(s staged, how func(*staged)) staged { how(&s); return s }
	for name, c := range map[string]struct {
		f    Facts
		want []string
	}{
		"a ramp": {honest.facts(), nil},
		"a ramp, and a neighbour after it": {change(honest, func(s *staged) {
			s.reads = func(i int) float64 { return tenths(3, 44, perTenth)(i) + tenths(23, 44, perTenth)(i) }
		}).facts(), []string{NoisyNeighbour}},
		"a ramp that fills memory, which answers then": {change(honest, func(s *staged) { s.reads, s.direct = tenths(3, 23, perTenth), false }).facts(), []string{FromMemory}},
		"a layout of files": {change(honest, func(s *staged) {
			s.input, s.laying, s.reads, s.writes = "[j]\nrw=randread\nunlink=1\n", true, tenths(23, 44, perTenth), tenths(3, 23, 5*perTenth)
		}).facts(), nil},
		"a ramp, and data that only the sync at the end writes": {change(honest, func(s *staged) {
			s.input, s.op, s.direct, s.tenths = "[j]\nrw=write\nramp_time=2\nend_fsync=1\n", "write", false, 60
			s.reads, s.writes = nil, tenths(44, 60, 2*perTenth)
		}).facts(), nil},
		"a ramp, and writes that are in memory at the end": {change(honest, func(s *staged) {
			s.input, s.op, s.direct = "[j]\nrw=write\nramp_time=2\n", "write", false
			s.reads, s.writes = nil, tenths(3, 23, perTenth)
		}).facts(), []string{FromMemory}},
		"jobs that ramp in turns":          {change(honest, func(s *staged) { s.input = ramped + "[k]\nrw=randread\nramp_time=2\nstonewall=1\n" }).facts(), []string{NoDeviceEvidence}},
		"jobs that ramp together":          {change(honest, func(s *staged) { s.input = ramped + "[k]\nrw=randread\nramp_time=2\n" }).facts(), nil},
		"jobs of which one ramps":          {change(honest, func(s *staged) { s.input = ramped + "[k]\nrw=randread\n" }).facts(), []string{NoDeviceEvidence}},
		"a ramp of 0":                      {change(honest, func(s *staged) { s.input, s.reads = "[j]\nrw=randread\nramp_time=0\n", tenths(23, 44, perTenth) }).facts(), nil},
		"a ramp, and hardly anything else": {change(honest, func(s *staged) { s.end = 24 }).facts(), []string{NoDeviceEvidence}},
		"a depth that fio searches for":    {change(honest, func(s *staged) { s.input = "[j]\nrw=randread\nlatency_target=1000000\n" }).facts(), []string{NoDeviceEvidence}},
		"a ramp of trims":                  {change(honest, func(s *staged) { s.input, s.op, s.reads = "[j]\nrw=randtrim\nramp_time=2\n", "trim", nil }).facts(), nil},
		"a ramp, and no samples":           {func() Facts { f := honest.facts(); f.Samples = nil; return f }(), []string{NoDeviceEvidence}},
		"a ramp, and a disk that is not sampled": {func() Facts {
			f := honest.facts()
			f.Target.Devices = append(f.Target.Devices, result.Device{Name: "sdb"})
			f.Target.Layers = append(f.Target.Layers, result.Layer{ID: "sdb", Kind: result.DiskLayer, Type: "scsi", IOStats: true})
			return f
		}(), []string{NoDeviceEvidence}},
	} {
		verdicts := Judge(c.f)
		onlyThese(t, name, verdicts, c.want)
		for _, want := range c.want {
			if !slices.ContainsFunc(verdicts, func(v result.Verdict) bool { return v.Name == want }) {
				t.Errorf("%s: %s is missed: %+v", name, want, verdicts)
			}
		}
	}
}

func TestFilesThatAreReadBeforehandProveNothing(t *testing.T) {
	for name, c := range map[string]struct {
		disks, before float64
		want          string
	}{
		"read from the disk once, and then from memory": {1, 1, FromMemory},
		"read from the disk twice":                      {2, 1, ""},
		"nobody knows how much":                         {1, 0, NoDeviceEvidence},
	} {
		f := world{reads: gib, copies: 1, seconds: 10}.facts()
		f.Measurement.Input = "[j]\nrw=read\npre_read=1\n"
		f.set("device.read.bytes", c.disks*gib)
		if c.before > 0 {
			f.set(result.PreReadBytes, c.before*gib)
		}
		verdicts := Judge(f)
		onlyThese(t, name, verdicts, []string{c.want})
		if c.want != "" && find(verdicts, c.want, "read") == nil {
			t.Errorf("%s: %s is missed", name, c.want)
		}
	}
}

// Depth and flushes, too, are those of the measured part.
func TestTheMeasuredPartHasCountersOfItsOwn(t *testing.T) {
	f := staged{
		input: "[j]\nrw=randread\nunlink=1\n", tenths: 44, begin: 23, end: 44, own: perTenth, op: "read", direct: true, laying: true,
		reads: tenths(23, 44, perTenth), writes: tenths(3, 23, 5*perTenth),
	}.facts()
	part, share, known := f.MeasuredPart()
	if !known || math.Abs(share-20.0/21) > 1e-9 {
		t.Fatalf("a share of %g, known: %t", share, known)
	}
	for name, want := range map[string]float64{
		"device.queue.depth": 1, "device.flush.count": 200, "device.write.bytes": 0, "device.read.bytes": 20 * perTenth, "read.bytes": 20 * perTenth, "device.seconds": 2,
	} {
		if got := part[name].Value; math.Abs(got-want) > 1e-6*max(1, want) {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
}

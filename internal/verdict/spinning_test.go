package verdict

import (
	"math/rand/v2"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// platters makes the disks spinning ones that say so, each of which serves so many reads of 4 KiB a
// second by the workload's clock, and so many requests by the kernel's.
func platters(reads, requests float64, job string) func(*Facts) {
	return both(spinning(""), leaves(func(l *result.Layer) { l.TurnsPerMinute = 7200 }), input(job), func(f *Facts) {
		n := float64(len(f.Target.Devices))
		f.set("read.iops", reads*n, "read.bandwidth", 4096*reads*n, "device.read.count", requests*n*f.value("device.seconds"), "write.bandwidth", 1.0)
	})
}

const atRandom = "rw=randread\nbs=4k\niodepth=32"

// spinningPairs are lies of spinning disks: their caches answer, and are taken for heads.
var spinningPairs = map[string]pair{
	"random reads from the cache of a spinning disk": {
		verdict: ImpossibleUncached, operation: "read", effect: result.Invalidates, lie: platters(1100, 1100, atRandom),
		twins: map[string]func(*Facts){
			"from its medium":                  platters(990, 990, atRandom),
			"merged with each other":           platters(1100, 300, atRandom),
			"in order":                         platters(5000, 5000, "rw=read\nbs=4k"),
			"eight at a time in order":         platters(5000, 5000, "rw=randread:8\nbs=4k"),
			"hardly at random":                 platters(5000, 5000, atRandom+"\npercentage_random=10"),
			"of a thousand files in turn":      platters(5000, 5000, atRandom+"\nnrfiles=1000"),
			"of a job beside one that scans":   platters(5000, 5000, atRandom+"\n[scan]\nbs=1m"), // whose default is rw=read
			"of a job that decides otherwise":  platters(5000, 5000, atRandom+"\nrw=read"),
			"through the page cache":           both(platters(5000, 5000, atRandom), buffered),
			"of a short trial":                 both(platters(5000, 5000, atRandom), setting("device.seconds", 0.9)),
			"a solid disk that claims to spin": both(platters(5000, 5000, atRandom), leaves(func(l *result.Layer) { l.TurnsPerMinute = 0 })),
			"a solid disk":                     both(platters(5000, 5000, atRandom), leaves(func(l *result.Layer) { l.Rotational = new(false) })),
			"a virtual disk":                   both(platters(5000, 5000, atRandom), spinning("the disk of a virtual machine")),
			"a volume of a controller":         both(platters(5000, 5000, atRandom), leaves(func(l *result.Layer) { l.Type = "scsi" })),
			"a disk behind a controller":       both(platters(5000, 5000, atRandom), leaves(func(l *result.Layer) { l.Type = "sas" })),
			"a solid disk beside it": both(platters(5000, 5000, atRandom), func(f *Facts) {
				f.Target.Layers[len(f.Target.Layers)-1].Rotational = new(false)
			}),
			"a loop device's page cache": both(platters(5000, 5000, atRandom), func(f *Facts) {
				f.Target.Devices = []result.Device{{Name: "loop0"}}
			}),
			"more disks than are told": both(platters(5000, 5000, atRandom), func(f *Facts) {
				f.Target.Devices = append(f.Target.Devices, result.Device{Name: "sdz"})
			}),
		},
	},
	"a stream from the cache of a spinning disk": {
		verdict: ImpossibleUncached, operation: "read", effect: result.Invalidates, lie: both(platters(100, 100, "rw=read\nbs=1m"), stream(640e6)),
		twins: map[string]func(*Facts){
			"from its medium":          both(platters(100, 100, "rw=read\nbs=1m"), stream(550e6)),
			"a faster disk":            both(platters(100, 100, "rw=read\nbs=1m"), stream(3e9), leaves(func(l *result.Layer) { l.Type = "nvme" })),
			"one that claims to spin":  both(platters(100, 100, "rw=read\nbs=1m"), stream(3e9), leaves(func(l *result.Layer) { l.TurnsPerMinute = 0 })),
			"one of a virtual machine": both(platters(100, 100, "rw=read\nbs=1m"), stream(3e9), spinning("the disk of a virtual machine")),
		},
	},
}

// stream makes each disk read so many bytes a second.
func stream(rate float64) func(*Facts) {
	return func(f *Facts) { f.set("read.bandwidth", rate*float64(len(f.Target.Devices))) }
}

// drive is a spinning disk as disks are.
type drive struct {
	// turn and seek are what a turn, and a move of the heads, take on average, in seconds.
	turn, seek float64
	// gain is by which factor a long queue that the disk sorts makes it faster.
	gain float64
	// stream is what it transfers, in bytes per second.
	stream float64
}

func randomDrive(r *rand.Rand) drive {
	turnsPerMinute := []float64{5400, 5900, 7200, 10000, 15000}[r.IntN(5)]
	return drive{turn: 60 / turnsPerMinute, seek: 0.002 + 0.010*r.Float64(), gain: 1 + 2*r.Float64(), stream: 50e6 + 250e6*r.Float64()}
}

// service is how long it needs for each request of a queue, in seconds.
func (d drive) service(depth, block float64, inOrder bool) float64 {
	if inOrder {
		return max(20e-6, block/d.stream) // a command of SATA takes some time whatever it reads
	}
	// SATA has queues of 32.
	return (d.seek+d.turn/2)/(1+(d.gain-1)*(1-1/min(depth, 32))) + block/d.stream
}

// spin returns the facts of a workload that reads from drives alike, and at random or in order, past
// the page cache or through it; and how many reads a second each serves.
func spin(r *rand.Rand, d drive, inOrder bool) (f Facts, each float64) {
	n, depth, block := 1+r.IntN(12), float64(1+r.IntN(64)), float64(int(512)<<r.IntN(12))
	busy := min(float64(n), depth)
	each = busy / float64(n) / d.service(max(1, depth/float64(n)), block, inOrder)
	w := world{seconds: 1 + 30*r.Float64(), copies: n, direct: r.IntN(4) > 0}
	rate := each * float64(n)
	w.reads = rate * block * w.seconds
	f = w.facts()
	spinning("")(&f)
	link := []float64{0, 300e6, 600e6}[r.IntN(3)]
	leaves(func(l *result.Layer) { l.TurnsPerMinute, l.LinkBytesPerSecond = int(60/d.turn), link })(&f)
	job := []string{"rw=randread", "readwrite=randread", "rw=randrw"}[r.IntN(3)]
	if inOrder {
		job = []string{"rw=read", "rw=randread:64", "rw=rw"}[r.IntN(3)]
	}
	input(job)(&f)
	f.set("read.iops", rate, "read.latency.mean", depth/rate, "read.latency.p50", depth/rate,
		"device.read.count", rate*(w.seconds+0.2)*(0.5+0.5*r.Float64()), "device.read.await", depth/rate, "device.queue.depth", depth)
	return f, each
}

// Whatever a spinning disk really does, nobody says that it cannot; of what none can do, that is said.
func TestNoRealSpinningDiskIsAccused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fastest, lies := 0.0, 0
	for i := range 20000 {
		d, inOrder := randomDrive(r), r.IntN(3) == 0
		f, each := spin(r, d, inOrder)
		if !inOrder {
			fastest = max(fastest, each)
		}
		if got := Judge(f); len(got) > 0 {
			t.Fatalf("drive %d, %+v, in order %v, %.0f reads a second each: %+v", i, d, inOrder, each, got)
		}
		if inOrder || !f.direct() {
			continue
		}
		// The same, answered from its cache.
		lies++
		more := headMoves * float64(len(f.Target.Devices)) * (1.01 + 50*r.Float64())
		f.set("read.iops", more, "device.read.count", more*f.value("device.seconds"))
		if v := find(Judge(f), ImpossibleUncached, "read"); f.value("read.bytes") >= enough && (v == nil || v.Effect != result.Invalidates) {
			t.Fatalf("drive %d, %.0f reads a second from %d disks: %+v", i, more, len(f.Target.Devices), v)
		}
	}
	if fastest < headMoves/2 || lies < 2000 {
		t.Errorf("the fastest disk served %.0f reads a second, and %d lies were told: too few to show anything", fastest, lies)
	}
}

// otherDisks are disks that serve as many reads as they like, although some look like spinning ones.
var otherDisks = map[string]func(*result.Layer){
	"NVMe":                                   func(l *result.Layer) { l.Type, l.Rotational = "nvme", new(false) },
	"SATA":                                   func(l *result.Layer) { l.Type, l.Rotational, l.LinkBytesPerSecond = "sata", new(false), 600e6 },
	"a solid disk that sysfs was told spins": func(l *result.Layer) { l.Type, l.Rotational, l.LinkBytesPerSecond = "sata", new(true), 600e6 },
	"virtio": func(l *result.Layer) {
		l.Type, l.Rotational, l.Note = "virtio", new(true), "the disk of a virtual machine"
	},
	"SATA of a hypervisor": func(l *result.Layer) {
		l.Type, l.Rotational, l.TurnsPerMinute, l.Note = "sata", new(true), 7200, "the disk of a virtual machine"
	},
	"SCSI of a hypervisor":   func(l *result.Layer) { l.Type, l.Rotational, l.TurnsPerMinute = "scsi", new(true), 7200 },
	"a volume of many disks": func(l *result.Layer) { l.Type, l.Rotational, l.TurnsPerMinute = "scsi", new(true), 15000 },
	"a SATA RAID": func(l *result.Layer) {
		l.Type, l.Rotational, l.TurnsPerMinute, l.Note = "sata", new(true), 7200, "a volume of a RAID controller"
	},
	"SAS": func(l *result.Layer) { l.Type, l.Rotational, l.TurnsPerMinute = "sas", new(true), 15000 },
	"iSCSI": func(l *result.Layer) {
		l.Kind, l.Type, l.Rotational, l.TurnsPerMinute = result.RemoteLayer, "iscsi", new(true), 7200
	},
}

// Whatever reads at random from another disk, or from spinning ones and another, may be as fast as its link.
func TestNoOtherDiskIsTakenForASpinningOne(t *testing.T) {
	for name, other := range otherDisks {
		r := rand.New(rand.NewPCG(7, 8))
		for i := range 500 {
			f, _ := spin(r, randomDrive(r), false)
			first := true
			leaves(func(l *result.Layer) {
				if first || r.IntN(2) == 0 { // beside spinning disks, one is enough
					l.TurnsPerMinute, l.LinkBytesPerSecond = 0, 0
					other(l)
				}
				first = false
			})(&f)
			rate := 1000 * float64(len(f.Target.Devices)) * (1 + 100*r.Float64())
			f.set("read.iops", rate, "device.read.count", rate*f.value("device.seconds"))
			if v := find(Judge(f), ImpossibleUncached, "read"); v != nil {
				t.Fatalf("%s, world %d, %.0f reads a second: %+v", name, i, rate, v)
			}
		}
	}
}

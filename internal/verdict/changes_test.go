package verdict

import (
	"strings"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// What follows changes a world in which everything is honest.

// set changes metrics: name and value of each.
func (f *Facts) set(parts ...any) {
	for i := 0; i < len(parts); i += 2 {
		f.Measurement.Metrics.Set(parts[i].(string), "", parts[i+1].(float64))
	}
}

// scale multiplies metrics: name and factor of each.
func (f *Facts) scale(parts ...any) {
	for i := 0; i < len(parts); i += 2 {
		name := parts[i].(string)
		f.set(name, f.value(name)*parts[i+1].(float64))
	}
}

func setting(parts ...any) func(*Facts) { return func(f *Facts) { f.set(parts...) } }
func scaling(parts ...any) func(*Facts) { return func(f *Facts) { f.scale(parts...) } }

// past makes all I/O go past the page cache.
func past(f *Facts) {
	f.Measurement.DirectIO = &result.DirectIO{Requested: true, Effective: result.Direct, Evidence: "it is"}
}

// both makes several changes.
func both(changes ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		for _, change := range changes {
			change(f)
		}
	}
}

func input(text string) func(*Facts) {
	return func(f *Facts) { f.Measurement.Input = "[j]\n" + text + "\n" }
}

// syncing adds syncs to the operations.
func syncing(f *Facts) { f.Measurement.Operations = append(f.Measurement.Operations, "sync") }

func options(text string) func(*Facts) {
	return func(f *Facts) { f.Target.Layers[0].Options = "rw," + text }
}

func buffered(f *Facts) {
	f.Measurement.DirectIO = &result.DirectIO{Effective: result.Buffered, Evidence: "direct is not set"}
}

// blind makes a world whose kernel counts nothing.
func blind(f *Facts) {
	for i := range f.Target.Layers {
		f.Target.Layers[i].IOStats = false
	}
	for name := range f.Measurement.Metrics {
		if strings.HasPrefix(name, "device.") && name != "device.seconds" {
			delete(f.Measurement.Metrics, name)
		}
	}
}

// loop puts a loop device below the file system, and a disk below it that moves a share of what
// it moves.
func loop(reads, writes float64) func(*Facts) {
	return func(f *Facts) {
		loopOnly(true)(f)
		f.set("below.read.bytes", reads*f.value("device.read.bytes"), "below.write.bytes", writes*f.value("device.write.bytes"))
	}
}

func loopOnly(direct bool) func(*Facts) {
	return func(f *Facts) {
		f.set("device.write.bytes", f.value("write.bytes"))
		f.Target.Layers = []result.Layer{
			{ID: "fs:/data", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"loop0"}},
			{ID: "loop0", Kind: result.LoopLayer, Type: "loop", DirectIO: &direct, IOStats: true, Below: []string{"sda"}},
			{ID: "sda", Kind: result.DiskLayer, Type: "scsi", IOStats: true},
		}
	}
}

// cache sets what the kernel and the disk say of the disk's cache.
func cache(kernel, disk string) func(*Facts) {
	return func(f *Facts) {
		last := &f.Target.Layers[len(f.Target.Layers)-1]
		last.WriteCache, last.DeviceCache = kernel, disk
	}
}

func tunable(name, value string) func(*Facts) {
	return func(f *Facts) { f.Tunables = []result.Tunable{{Name: name, During: value}} }
}

// link makes the links of all disks together so many times as fast as the reads.
func link(factor float64) func(*Facts) {
	return func(f *Facts) {
		disks := len(result.Leaves(f.Target.Layers))
		for i := range f.Target.Layers {
			if f.Target.Layers[i].Kind == result.DiskLayer {
				f.Target.Layers[i].LinkBytesPerSecond = factor * f.value("read.bandwidth") / float64(disks)
			}
		}
		f.set("write.bandwidth", 1.0)
	}
}

// queue makes reads that wait 3.2 ms, 32 at a time, of which so many are at the device, which
// takes so many seconds for each.
func queue(atDevice, await float64) func(*Facts) {
	return setting("read.iops", 1e4, "read.latency.mean", 3.2e-3, "device.queue.depth", atDevice, "device.read.await", await)
}

// blocks makes the writes sequential, in blocks of a size.
func blocks(size, request, depth float64) func(*Facts) {
	return func(f *Facts) {
		input("rw=write")(f)
		h := &histogram.Histogram{}
		h.Add(1000, uint64(f.value("write.bytes")/size))
		f.Measurement.Histograms = result.Histograms{"write": h}
		f.set("device.write.count", f.value("device.write.bytes")/request, "write.latency.mean", depth*size/f.value("write.bandwidth"))
	}
}

// smallReads are sequential reads of 4 KiB through the page cache, for which the disks get requests of a size, so many at a time.
func smallReads(request, depth float64) func(*Facts) {
	return both(reading(""), input("rw=read"), buffered, func(f *Facts) {
		h := &histogram.Histogram{}
		h.Add(1000, uint64(f.value("read.bytes")/4096))
		f.Measurement.Histograms = result.Histograms{"read": h}
		f.set("device.read.count", f.value("device.read.bytes")/request, "read.latency.mean", 4096/f.value("read.bandwidth"), "device.queue.depth", depth)
	})
}

// limit of a disk: so many times what each of the disks moves.
func limit(direction, quantity string, factor float64) func(*Facts) {
	return func(f *Facts) {
		moved := f.value("device."+direction+"."+quantity) / f.value("device.seconds") / float64(len(f.Target.Devices))
		f.set("limit."+direction+"."+quantity, factor*moved)
	}
}

// background was moved before the trial, as a share of what was moved during it. The trial is so
// short that this is more than a log.
func background(share float64) func(*Facts) {
	return func(f *Facts) {
		moved := f.value("device.read.bytes") + f.value("device.write.bytes")
		f.set("device.seconds", min(f.value("device.seconds"), 0.05*moved/faint))
		f.set("background.write.bytes", share*moved/f.value("device.seconds"))
	}
}

// neighbour reads so many times what the trial moved.
func neighbour(share float64) func(*Facts) {
	return func(f *Facts) {
		all := f.value("device.read.bytes") + f.value("device.write.bytes")
		f.set("device.read.bytes", f.value("device.read.bytes")+share*all)
	}
}

// leftover is written after the clock has stopped, as a share of what the workload wrote.
func leftover(share float64) func(*Facts) {
	return func(f *Facts) { f.set("device.drain.bytes", share*f.value("write.bytes")*f.copies()) }
}

// waiting is a workload that waits for a CPU for a share of what its operations take, and of the
// time in which it can run.
func waiting(ofLatency, share float64) func(*Facts) {
	return func(f *Facts) {
		// Slow enough that the wait can be seen at all.
		for _, op := range f.operations() {
			if f.value(op+".latency.mean") < 2e-3 {
				f.set(op+".latency.mean", 2e-3, op+".iops", 500.0)
			}
		}
		latency := 0.0
		for _, op := range f.operations() {
			latency = max(latency, f.value(op+".latency.mean"))
		}
		f.set("engine.cpu.wait.mean", ofLatency*latency, "engine.cpu.wait.share", share)
	}
}

// climbed adds a flush ladder of 400 syncs on disks with a volatile cache: how much longer a flush takes
// after all writes, how many flushes the disks saw, and how often a second a block was made durable.
func climbed(growth, flushes, rate float64) func(*Facts) {
	return func(f *Facts) {
		f.Measurement.Operations = append(f.operations(), "fdatasync", "fsync", "flush")
		f.set("ladder.growth", growth, "ladder.order", 1.0, "ladder.least", 0.001, "ladder.most", growth*0.001, "ladder.most.bytes", gib/4,
			"ladder.syncs", 400.0, "device.flush.count", flushes, "fdatasync.rate", rate)
		caching("write back")(f)
	}
}

// caching says what the kernel believes of the disks' caches.
func caching(cache string) func(*Facts) {
	return leaves(func(l *result.Layer) { l.WriteCache = cache })
}

// spinning makes the disks spinning ones, with a note on what is not seen of them.
func spinning(note string) func(*Facts) {
	return leaves(func(l *result.Layer) { l.Rotational, l.Type, l.Note = new(true), "sata", note })
}

func leaves(change func(*result.Layer)) func(*Facts) {
	return func(f *Facts) {
		for i := range f.Target.Layers {
			if l := &f.Target.Layers[i]; len(l.Below) == 0 {
				change(l)
			}
		}
	}
}

// doing makes the kernel do something of its own.
func doing(a result.Activity) func(*Facts) {
	return func(f *Facts) { f.Activities = append(f.Activities, a) }
}

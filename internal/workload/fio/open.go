package fio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// open is the I/O of an open loop, which we make ourselves: fio 3.33 measures from when it issues an
// I/O, which may be long after its time, and with io_submit_mode=offload, which would measure from
// close to it, fio hangs at the end of a job.
type open struct {
	job
	fd       int
	schedule *native.Schedule
	block    int64
	blocks   int64
	seed     uint64
	sync     func(fd int) unix.Errno
	name     string // of the sync
	threads  []*opener
}

// opener is what one thread does, and what it has counted of reads and of writes.
type opener struct {
	*open
	data   *native.Data
	buffer []byte
	reads  counted
	writes counted
	synced histogram.Recorder
}

// counted are the latencies of one operation: the whole from its time on the schedule, the wait until
// it began, and the rest.
type counted struct{ whole, waited, done histogram.Recorder }

// runOpen runs a trial of a job that offers a rate.
func runOpen(ctx context.Context, env workload.Env, j job, direct *result.DirectIO) (m *result.Measurement, err error) {
	o := &open{job: j, block: int64(j.maxBlock()), seed: uint64(env.Seed())}
	var usage native.Usage
	aside, err := native.Aside(func() error { return o.setUp(env) })
	if err != nil {
		return nil, err
	}
	defer func() {
		if errno := native.Close(o.fd); errno != 0 && err == nil {
			err = env.Refused("fio", "close", errno)
		}
	}()
	usage, err = native.Run(ctx, len(o.threads), func(t *native.Thread) error { return o.threads[t.Index].run(t) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m = o.measurement(usage)
	m.EngineCPU += aside
	o.addRates(m, usage)
	m.DirectIO, m.Files, m.Size, m.Seed = direct, fileChoices([]job{j}), j.size, env.Seed()
	m.Input = render([]job{j}, nil)
	setHot([]job{j}, env.Target.Mode, rehearsal{}, m.Metrics)
	m.Notes = append(m.Notes, fileNotes([]job{j})...)
	if err != nil {
		return m, o.failed(env, err)
	}
	if errno := native.Fsync(o.fd); errno != 0 {
		return m, env.Refused("fio", "fsync after the trial", errno)
	}
	return m, nil
}

// addRates adds what was done over time, if it was all reads or all writes: the threads do not count
// a mixture apart. How they were scheduled says nothing: they wait for the next operation by themselves.
func (o *open) addRates(m *result.Measurement, usage native.Usage) {
	operation, ok := map[float64]string{1: "read", 0: "write"}[o.readShare()]
	if !ok {
		return
	}
	for _, p := range usage.Paces {
		m.AddRate(operation, p.End, p.Length, p.Count, p.Bytes)
	}
}

// setUp opens the file or device, drops its pages, draws the schedule and makes the buffers.
func (o *open) setUp(env workload.Env) error {
	path, flags := env.Device, unix.O_RDWR
	if env.Target.Mode == trial.Filesystem {
		path, flags = filepath.Join(directory(env), o.defaultName(0, 0)), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW
	}
	if o.direct() {
		flags |= unix.O_DIRECT
	}
	room := uint64(0)
	if env.Target.Mode == trial.Block {
		var err error
		if room, err = env.Room(); err != nil {
			return err
		}
	}
	size := o.sizeOn(room)
	if size == 0 {
		size = room
	}
	if o.blocks = int64(size) / o.block; o.blocks < 1 {
		return env.InSpec(invalid(fieldOfferedRate, fmt.Sprintf("%s is smaller than a block of %s", workload.Human(size), workload.Human(uint64(o.block))), "raise size or lower bs"))
	}
	fd, errno := native.Open(native.Path(path), flags)
	if errno != 0 {
		return env.Refused("fio", "open", errno)
	}
	o.fd = fd
	if err := native.DropPages(fd); err != nil {
		_ = native.Close(fd) // nothing was written
		return env.Refused("fio", "before the trial", err)
	}
	switch {
	case o.on("fsync"):
		o.sync, o.name = native.Fsync, "fsync"
	case o.on("fdatasync"):
		o.sync, o.name = native.Fdatasync, "fdatasync"
	}
	o.schedule = native.NewSchedule(o.offer.arrivals, o.arrivals(), float64(o.offer.rate), o.seed)
	for range o.outstanding() {
		t := &opener{open: o}
		if o.readShare() > 0 {
			t.buffer = native.Aligned(int(o.block))
		}
		if o.readShare() < 1 {
			t.data = native.NewData(rand.Uint64(), int(o.block)) // other data in each trial
		}
		o.threads = append(o.threads, t)
	}
	return nil
}

// readShare is which share of the operations read.
func (j job) readShare() float64 { return 1 - float64(j.writeShare())/100 }

// run does operations until the schedule ends.
func (o *opener) run(thread *native.Thread) error {
	// What the operation does depends on its number alone, not on the thread that does it.
	source := &rand.PCG{}
	draw := rand.New(source)
	for {
		index, due, ok := o.schedule.Take(thread)
		if !ok {
			return nil
		}
		begin := thread.Clock.Now()
		source.Seed(o.seed, uint64(index)+1)
		reads := draw.Float64() < o.readShare()
		offset := index % o.blocks * o.block
		if o.random() {
			offset = draw.Int64N(o.blocks) * o.block
		}
		if reads {
			if err := o.read(offset); err != nil {
				return err
			}
			o.reads.record(due, begin, thread.Clock.Now())
			thread.Count(1, o.block)
			continue
		}
		if errno := native.Pwrite(o.fd, o.data.Next(int(o.block)), offset); errno != 0 {
			return &native.Failed{Call: "write", Errno: errno}
		}
		end := thread.Clock.Now()
		if o.sync != nil {
			if errno := o.sync(o.fd); errno != 0 {
				return &native.Failed{Call: o.name, Errno: errno}
			}
			written := end
			end = thread.Clock.Now()
			o.synced.Record(uint64(end - written))
		}
		o.writes.record(due, begin, end)
		thread.Count(1, o.block)
	}
}

func (o *opener) read(offset int64) error {
	n, errno := native.Pread(o.fd, o.buffer, offset)
	if errno != 0 {
		return &native.Failed{Call: "read", Errno: errno}
	}
	if n < len(o.buffer) {
		return fmt.Errorf("read: the data ends at %d: %w", offset+int64(n), io.ErrUnexpectedEOF)
	}
	return nil
}

func (o *open) random() bool {
	return o.pattern() != "read" && o.pattern() != "write" && o.pattern() != "readwrite"
}

// failed turns an error of the threads into a failure.
func (o *open) failed(env workload.Env, err error) error {
	if f, ok := errors.AsType[*native.Failed](err); ok {
		return env.Refused("fio", f.Call, f.Errno)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return env.Refused("fio", "read", err)
	}
	return err
}

func (c *counted) record(due, begin, end time.Duration) {
	c.whole.Record(uint64(end - due))
	c.waited.Record(uint64(begin - due))
	c.done.Record(uint64(end - begin))
}

func (c *counted) merge(other *counted) {
	c.whole.Merge(&other.whole)
	c.waited.Merge(&other.waited)
	c.done.Merge(&other.done)
}

// measurement sums up what the threads have counted.
func (o *open) measurement(usage native.Usage) *result.Measurement {
	m := &result.Measurement{Metrics: result.Metrics{}, Histograms: result.Histograms{}, EngineCPU: usage.User + usage.System}
	var reads, writes counted
	var synced histogram.Recorder
	for _, t := range o.threads {
		reads.merge(&t.reads)
		writes.merge(&t.writes)
		synced.Merge(&t.synced)
	}
	length := o.schedule.Length().Seconds()
	seconds := max(usage.Elapsed.Seconds(), length)
	all := float64(reads.whole.Count() + writes.whole.Count())
	for _, op := range []struct {
		name string
		*counted
	}{{"read", &reads}, {"write", &writes}} {
		n := float64(op.whole.Count())
		if n == 0 {
			continue
		}
		share := n / all // of what was drawn, which is not exactly what rwmixread says
		m.Operations = append(m.Operations, op.name)
		m.Metrics.Set(op.name+".ios", result.Count, n)
		m.Metrics.Set(op.name+".bytes", result.Bytes, n*float64(o.block))
		m.Metrics.Set(op.name+".iops", result.PerSecond, n/seconds)
		m.Metrics.Set(op.name+".bandwidth", result.BytesPerSecond, n*float64(o.block)/seconds)
		m.Metrics.Set(op.name+".rate.offered", result.PerSecond, share*float64(o.schedule.Planned())/length)
		m.Metrics.Set(op.name+".backlog", result.Count, share*float64(o.schedule.Backlog()))
		h := op.whole.Histogram()
		m.Histograms[op.name] = h
		m.Metrics.SetLatency(op.name, op.whole.Mean(), float64(op.whole.Max()), h)
		m.Metrics.SetTimes(op.name+".wait", op.waited.Mean(), float64(op.waited.Max()), op.waited.Histogram())
		m.Metrics.SetTimes(op.name+".completion", op.done.Mean(), float64(op.done.Max()), op.done.Histogram())
	}
	if n := float64(synced.Count()); n > 0 {
		m.Operations = append(m.Operations, "sync")
		m.Metrics.Set("sync.ios", result.Count, n)
		m.Metrics.Set("sync.rate", result.PerSecond, n/seconds)
		h := synced.Histogram()
		m.Histograms["sync"] = h
		m.Metrics.SetLatency("sync", synced.Mean(), float64(synced.Max()), h)
	}
	m.Metrics.Set("cpu.user", result.Ratio, usage.User.Seconds()/seconds)
	m.Metrics.Set("cpu.system", result.Ratio, usage.System.Seconds()/seconds)
	m.Notes = append(m.Notes, fmt.Sprintf("open loop: storagebench itself offered %d operations per second, at most %d at once, and latencies count from the time at which each was to begin", o.offer.rate, o.outstanding()))
	return m
}

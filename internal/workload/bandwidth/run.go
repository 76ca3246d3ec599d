package bandwidth

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// moved is what one operation has measured.
type moved struct {
	native.Usage
	latencies *histogram.Recorder
	bytes     int64
	// aside is CPU time before and after what was timed.
	aside time.Duration
}

// rate is bytes per second, over the time of the threads and what came after.
func (d moved) rate(after time.Duration) float64 {
	return float64(d.bytes) / (d.Elapsed + after).Seconds()
}

// Run executes one trial.
func (Engine) Run(ctx context.Context, env workload.Env) (m *result.Measurement, err error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	a, err := newArea(env, c)
	if err != nil {
		return nil, err
	}
	if a.size == 0 {
		return nil, fmt.Errorf("bandwidth: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	if !c.readsFirst() {
		defer func() {
			if removed := a.remove(); err == nil {
				err = removed
			}
		}()
	}
	s := sum{Measurement: &result.Measurement{Metrics: result.Metrics{}, Histograms: result.Histograms{}, Size: a.choice}}
	s.EngineCPU, _ = native.Aside(func() error { s.DirectIO = a.directIO(); return nil })
	for _, op := range c.Operations {
		if op == write {
			err = a.measureWrite(ctx, &s)
		} else {
			err = a.measureRead(ctx, &s)
		}
		if err != nil {
			break
		}
	}
	return s.finish(), err
}

// directIO reports whether direct I/O was asked for and what the target makes of it.
func (a area) directIO() *result.DirectIO {
	if !a.config.Direct {
		return &result.DirectIO{Effective: result.Buffered, Evidence: "direct is false"}
	}
	d := &result.DirectIO{Requested: true}
	if a.onDevice() {
		d.Effective, d.Evidence = device.ProbeDirectDevice(a.env.Device)
	} else {
		d.Effective, d.Evidence = device.ProbeDirect(a.env.Dir)
	}
	return d
}

// measureWrite writes the area. The rate at which the data was taken does not know of
// the draining; the durable one does.
func (a area) measureWrite(ctx context.Context, s *sum) error {
	d, drained, err := a.write(ctx, int64(a.config.BlockSize))
	if d.bytes == 0 {
		return err
	}
	s.add("write", d)
	if err != nil {
		return err
	}
	s.Operations = append(s.Operations, "write.durable")
	s.Metrics.Set("write.durable.bandwidth", result.BytesPerSecond, d.rate(drained))
	s.Metrics.Set("drain.duration", result.Seconds, drained.Seconds())
	return nil
}

// write writes the area in blocks of that size, and drains it.
func (a area) write(ctx context.Context, block int64) (d moved, drained time.Duration, err error) {
	if err := a.noteWritten(0); err != nil {
		return d, 0, err
	}
	fd, err := a.create()
	if err != nil {
		return d, 0, err
	}
	defer func() {
		if errno := native.Close(fd); errno != 0 && err == nil {
			err = a.refused("close", errno)
		}
	}()
	var t *transfer
	setUp, err := native.Aside(func() error {
		if err := a.extend(fd); err != nil {
			return err
		}
		t = newTransfer(fd, a.size, block, a.config.Depth, true)
		return a.settle(fd)
	})
	if err != nil {
		return d, 0, err
	}
	d.Usage, err = t.run(ctx)
	d.latencies, d.bytes = t.sum()
	d.aside = setUp
	if err != nil {
		return d, 0, a.failed(err)
	}
	clock := native.NewClock()
	cpu, err := native.Aside(func() error { return a.drain(fd) })
	drained = clock.Now()
	d.aside += cpu
	if err != nil {
		return d, 0, a.refused("after the last write", err)
	}
	return d, drained, a.noteWritten(a.size)
}

// measureRead reads the area.
func (a area) measureRead(ctx context.Context, s *sum) (err error) {
	fd, err := a.open(unix.O_RDWR) // nobody else may ask what is in the page cache
	if err != nil {
		return err
	}
	defer func() { _ = native.Close(fd) }() // it was only read
	var t *transfer
	setUp, err := native.Aside(func() error {
		t = newTransfer(fd, a.size, int64(a.config.BlockSize), a.config.Depth, false)
		if err := a.settle(fd); err != nil || a.config.Direct {
			return err
		}
		return a.uncache(fd, s)
	})
	if err != nil {
		return err
	}
	d := moved{aside: setUp}
	d.Usage, err = t.run(ctx)
	if d.latencies, d.bytes = t.sum(); d.bytes > 0 {
		s.add("read", d)
	}
	if err != nil {
		return a.failed(err)
	}
	return nil
}

// uncache has the page cache drop the area, and notes if it has not.
func (a area) uncache(fd int, s *sum) error {
	if err := native.DropPages(fd); err != nil {
		return a.refused("before the read", err)
	}
	in, all, err := native.Resident(fd, a.size)
	switch {
	case err != nil:
		s.Notes = append(s.Notes, "it is unknown whether the read came from the page cache: "+err.Error())
	case in > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("%d of %d pages could not be dropped from the page cache before the read: read.bandwidth is partly that of memory", in, all))
	}
	return nil
}

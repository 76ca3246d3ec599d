package flushladder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// Prepare chooses the size, sees whether there is room for it, and writes the file.
func (Engine) Prepare(ctx context.Context, env workload.Env) error {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	var done bool
	filled := "flushladder-filled-" + env.Workload.Name
	if ok, err := env.LoadNote(filled, &done); err != nil || ok && done {
		return err
	}
	room, err := env.Room()
	if err != nil {
		return err
	}
	if c.Size == nil {
		choice := chosenSize(room)
		if choice.Bytes < minSize {
			return env.TooSmall(minSize/8*10, room, "make it larger")
		}
		if err := env.SaveNote(sizeNote(env), choice); err != nil {
			return err
		}
	}
	size, _, err := c.sizeOf(env)
	if err != nil {
		return err
	}
	if uint64(size) > room {
		return env.TooSmall(uint64(size), room, "make it larger, or lower flushLadder.size of the workload")
	}
	env.Log.Info("writing what will be overwritten", "workload", env.Workload.Name, "bytes", size)
	if err := newClimb(c, env, size).fill(ctx); err != nil {
		return refused(env, err)
	}
	return env.SaveNote(filled, true)
}

// Run executes one trial.
func (Engine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	size, choice, err := c.sizeOf(env)
	if err != nil {
		return nil, err
	}
	var l *climb
	aside, _ := native.Aside(func() error { l = newClimb(c, env, size); return nil })
	var notes []string
	for _, r := range rungs() {
		err := l.step(ctx, r)
		if errors.Is(err, errSkipped) {
			notes = append(notes, r.name+" is left out: the target refuses direct I/O")
			continue
		}
		if err != nil {
			return nil, refused(env, err)
		}
	}
	if err := l.flush(ctx, rand.New(rand.NewPCG(uint64(env.Seed()), 0))); err != nil {
		return nil, refused(env, err)
	}
	m := l.measurement()
	m.EngineCPU += aside
	m.Size, m.Seed, m.Notes = choice, env.Seed(), append(notes, m.Notes...)
	return m, nil
}

// refused turns a thread's error into a failure.
func refused(env workload.Env, err error) error {
	if f, ok := errors.AsType[*native.Failed](err); ok {
		return env.Refused("flushLadder", f.Call, f.Errno)
	}
	return err
}

// measurement sums up the trial.
func (l *climb) measurement() *result.Measurement {
	m := &result.Measurement{Metrics: result.Metrics{}, Histograms: result.Histograms{}, EngineCPU: l.usage.User + l.usage.System}
	syncs := float64(len(l.flushes))
	for i := range l.steps {
		s := &l.steps[i]
		h := s.latencies.Histogram()
		n := float64(s.latencies.Count())
		m.Operations = append(m.Operations, s.name)
		m.Metrics.Set(s.name+".rate", result.PerSecond, n/s.seconds)
		m.Metrics.Set(s.name+".count", result.Count, n)
		m.Metrics.SetLatency(s.name, s.latencies.Mean(), float64(s.latencies.Max()), h)
		m.Histograms[s.name] = h
		if s.call != nil {
			syncs += n
		}
	}
	h := l.all.Histogram()
	// The most important first: a sync is what the question is about.
	m.Operations = append(m.Operations, "flush")
	slices.SortStableFunc(m.Operations, func(a, b string) int { return rank(a) - rank(b) })
	m.Metrics.Set("flush.count", result.Count, float64(len(l.flushes)))
	m.Metrics.SetLatency("flush", l.all.Mean(), float64(l.all.Max()), h)
	m.Histograms["flush"] = h
	m.Metrics.Set("ladder.syncs", result.Count, syncs)
	l.rise(m)
	return m
}

// rank puts what makes nothing durable last.
func rank(operation string) int {
	if operation == "nosync" || operation == "direct" {
		return 1
	}
	return 0
}

// rise compares the flushes by what was written before them.
func (l *climb) rise(m *result.Measurement) {
	all := amounts(l.size)
	least, most := l.after(all[0]), l.after(all[len(all)-1])
	for _, amount := range all {
		m.Metrics.Set("flush.after."+strings.ReplaceAll(workload.Human(uint64(amount)), " ", ""), result.Seconds, median(l.after(amount)))
	}
	// Whatever else the machine does only adds time, so that the shortest times are the best evidence; and
	// a disk is only said to be flat if the medians say so too.
	growth, order := max(median(most)/median(least), slices.Min(most)/slices.Min(least)), above(most, least)
	m.Metrics.Set("ladder.least", result.Seconds, median(least))
	m.Metrics.Set("ladder.most", result.Seconds, median(most))
	m.Metrics.Set("ladder.most.bytes", result.Bytes, float64(l.size))
	m.Metrics.Set("ladder.growth", result.Ratio, growth)
	m.Metrics.Set("ladder.order", result.Ratio, order)
	var what string
	switch {
	case growth < 2:
		what = "hardly longer: the cache survives a power cut, or is ignored, or was written already"
	case order < 0.9:
		what = "but some of the former were shorter than some of the latter: measure where nothing else uses the disk"
	default:
		what = "much longer: consistent with a disk that writes its cache when it is told to"
	}
	m.Notes = append(m.Notes, fmt.Sprintf("a flush took %s after %s of writes and %s after %s, %s. Only a power cut proves that flushes are honoured: docs/how-to/cut-the-power.md",
		seconds(median(least)), workload.Human(uint64(all[0])), seconds(median(most)), workload.Human(uint64(l.size)), what))
}

func seconds(s float64) string {
	return time.Duration(s * 1e9).Round(time.Microsecond).String()
}

// after returns the times of the flushes after an amount.
func (l *climb) after(amount int64) []float64 {
	var out []float64
	for _, f := range l.flushes {
		if f.amount == amount {
			out = append(out, f.seconds)
		}
	}
	return out
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// above is the probability that a value of a is above one of b, ties counted half.
func above(a, b []float64) float64 {
	sum := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				sum++
			case x == y:
				sum += 0.5
			}
		}
	}
	return sum / float64(max(1, len(a)*len(b)))
}

package runner

import (
	"context"
	"errors"
	"maps"

	"storagebench.io/storagebench/internal/observe/blockio"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload/apart"
)

// openRequests begins to observe the requests of the target's disks, and records in the
// environment what it cannot observe. The worker measures all the same. The caller calls close.
func (w *worker) openRequests() (closeIt func()) {
	observer := result.Observer{Name: result.RequestsObserver}
	defer func() { w.summary.Environment.Observers = append(w.summary.Environment.Observers, observer) }()
	if !w.ObserveRequests {
		observer.Unseen = []string{"the requests of the target's disks: nobody asked for it"}
		return func() {}
	}
	var names []string
	for _, d := range w.summary.Environment.Target.Devices {
		names = append(names, d.Name)
	}
	disks, unseen := blockio.Disks(w.System.Root, names)
	observer.Unseen = unseen
	if len(disks) > 0 || len(names) == 0 {
		c, err := blockio.Open(disks)
		if err != nil {
			observer.Unseen = append(observer.Unseen, "the requests of the target's disks: "+err.Error())
		} else {
			w.requests = c
			for _, d := range disks {
				observer.Seen = append(observer.Seen, d.Name)
			}
		}
	}
	return func() {
		if w.requests != nil {
			if err := w.requests.Close(); err != nil {
				w.Log.Warn("cannot stop observing the disks' requests", "error", err)
			}
			w.requests = nil
		}
	}
}

// requestWatch observes the disks' requests during one trial. Nil observes nothing.
type requestWatch struct {
	collector   *blockio.Collector
	before, end blockio.Snapshot
	// err says why the counters could not be read, unknown why nobody knows whose requests these
	// are.
	err, unknown error
}

// watchRequests begins with a trial.
func (w *worker) watchRequests() *requestWatch {
	if w.requests == nil {
		return nil
	}
	r := &requestWatch{collector: w.requests}
	r.before, r.err = w.requests.Read()
	return r
}

// engine returns the context of the trial's engine, whose process is the workload's.
func (r *requestWatch) engine(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return apart.OnStart(ctx, func(pid int) { r.unknown = r.collector.Own(pid) })
}

// stop ends when the engine has ended.
func (r *requestWatch) stop() {
	if r == nil {
		return
	}
	var err error
	r.end, err = r.collector.Read()
	r.err = errors.Join(r.err, err)
}

// add adds what happened to the measurement.
func (r *requestWatch) add(m *result.Measurement) {
	switch {
	case r == nil:
		return
	case r.err != nil:
		m.Notes = append(m.Notes, "cannot read what was counted of the disks' requests: "+r.err.Error())
		return
	case r.unknown != nil:
		m.Notes = append(m.Notes, "cannot tell which of the disks' requests are the workload's: "+r.unknown.Error())
	}
	var more result.Metrics
	m.Devices, more = r.collector.Trial(r.before, r.end)
	maps.Copy(m.Metrics, more)
	if note := result.SampleNote(m.Devices); note != "" {
		m.Notes = append(m.Notes, note)
	}
}

package postmark

import (
	"fmt"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload/native"
)

// measurement is what the threads have counted, as far as they came.
func (r *run) measurement() *result.Measurement {
	total := r.total()
	m := &result.Measurement{Metrics: result.Metrics{}, Histograms: result.Histograms{}}
	mixed := r.transactions.Elapsed
	for _, op := range r.operations(total) {
		m.Operations = append(m.Operations, op.name)
		setOperation(m.Metrics, m.Histograms, op.name, op.tally, mixed)
	}
	m.Metrics.Set("transactions.half", result.Count, float64(total.half))
	setBytes(m.Metrics, "read", total.read.bytes, mixed)
	setBytes(m.Metrics, "write", total.create.bytes+total.append.bytes, mixed)

	r.alone(m, "create", &total.createAlone, r.create)
	setBytes(m.Metrics, "create.alone", total.createAlone.bytes, r.create.Elapsed)
	r.alone(m, "delete", &total.removeAlone, r.remove)

	m.Metrics.Set("phase.create.duration", result.Seconds, r.create.Elapsed.Seconds())
	m.Metrics.Set("phase.transactions.duration", result.Seconds, mixed.Seconds())
	m.Metrics.Set("phase.delete.duration", result.Seconds, r.remove.Elapsed.Seconds())
	if r.Durability == syncAtEnd {
		m.Metrics.Set("sync.duration", result.Seconds, r.synced.Seconds())
	}
	if s := mixed.Seconds(); s > 0 {
		m.Metrics.Set("cpu.user", result.Ratio, r.transactions.User.Seconds()/s)
		m.Metrics.Set("cpu.system", result.Ratio, r.transactions.System.Seconds()/s)
	}
	m.Metrics.SetSchedule(r.transactions.Schedule.Ran, r.transactions.Schedule.Waited, r.transactions.Schedule.Slices)
	for _, p := range r.transactions.Paces {
		m.AddRate("transactions", p.End, p.Length, p.Count, p.Bytes)
	}
	for _, u := range []native.Usage{r.create, r.transactions, r.remove} {
		m.EngineCPU += u.User + u.System
	}
	if r.compatible() && r.complete { // the original reports nothing else
		o := r.original(total)
		o.set(m.Metrics)
		m.RawOutput = []byte(o.String())
	}
	m.Notes = r.notes(total)
	return m
}

// named is an operation by the name that its metrics have.
type named struct {
	name string
	*tally
}

// operations that the biases leave, the whole first. They are the same in every trial.
func (r *run) operations(t *tallies) []named {
	ops := []named{{"transactions", &t.transactions}}
	add := func(wanted bool, name string, count *tally) {
		if wanted {
			ops = append(ops, named{name, count})
		}
	}
	add(r.CreateBias > 0, "create", &t.create)
	add(r.ReadBias > 0, "read", &t.read)
	add(r.ReadBias >= 0 && r.ReadBias < 10, "append", &t.append)
	add(r.CreateBias >= 0 && r.CreateBias < 10, "delete", &t.remove)
	return ops
}

func setOperation(m result.Metrics, h result.Histograms, name string, t *tally, took time.Duration) {
	m.Set(name+".attempted", result.Count, float64(t.attempted))
	m.Set(name+".count", result.Count, float64(t.done))
	m.Set(name+".noop", result.Count, float64(t.skipped))
	m.Set(name+".errors", result.Count, float64(t.failed))
	if s := took.Seconds(); s > 0 {
		m.Set(name+".rate", result.PerSecond, float64(t.done)/s)
	}
	if t.done > 0 {
		histogram := t.latency.Histogram()
		m.SetLatency(name, t.latency.Mean(), float64(t.latency.Max()), histogram)
		h[name] = histogram
	}
}

func setBytes(m result.Metrics, name string, bytes uint64, took time.Duration) {
	m.Set(name+".bytes", result.Bytes, float64(bytes))
	if s := took.Seconds(); s > 0 {
		m.Set(name+".bandwidth", result.BytesPerSecond, float64(bytes)/s)
	}
}

// alone puts what a phase did that does nothing else: among the trial's metrics its
// rate, and the rest into a part of its own.
func (*run) alone(m *result.Measurement, name string, t *tally, usage native.Usage) {
	m.Metrics.Set(name+".alone.count", result.Count, float64(t.done))
	if s := usage.Elapsed.Seconds(); s > 0 {
		m.Metrics.Set(name+".alone.rate", result.PerSecond, float64(t.done)/s)
	}
	part := result.Part{Name: name, Metrics: result.Metrics{}, Histograms: result.Histograms{}}
	setOperation(part.Metrics, part.Histograms, name, t, usage.Elapsed)
	m.Parts = append(m.Parts, part)
}

// notes say what a reader of the numbers must know.
func (r *run) notes(t *tallies) []string {
	var notes []string
	if r.Durability == none {
		notes = append(notes, "durability None: the rates are those of memory as long as it lasts; drain.duration is the time to write the rest")
	}
	if r.compatible() && r.buffered() {
		notes = append(notes, "blocks are collected into pieces of 64 KiB; the original does so through the C library, whose pieces are 4 KiB on most local file systems")
	}
	all := max(t.transactions.attempted, 1)
	percent := func(n uint64) string { return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(all)) }
	if t.transactions.skipped > 0 {
		notes = append(notes, percent(t.transactions.skipped)+" of the transactions did nothing and count in no rate")
	}
	if t.half > 0 {
		notes = append(notes, fmt.Sprintf("%s of the transactions did only one of their two halves: %d appends found a full file or none, %d creates a full table, %d reads and %d deletes no file",
			percent(t.half), t.append.skipped, t.create.skipped, t.read.skipped, t.remove.skipped))
	}
	return notes
}

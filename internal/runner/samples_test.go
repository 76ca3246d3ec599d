package runner

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/samples/codec"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Each trial's samples are an object of their own, which is stored before the trial's document and
// named in it, with what the engine itself counted.
func TestSamplesAreStoredBesideTheTrial(t *testing.T) {
	b := newBed(t)
	b.engine.change = func(_ workload.Env, m *result.Measurement) {
		now := time.Now()
		time.Sleep(20 * time.Millisecond)
		m.Rates = []result.Rate{{Operation: "read", End: now.Add(20 * time.Millisecond), Seconds: 0.02, Count: 7, Bytes: 700}}
	}
	if receipt := b.run(t.Context()); receipt.Failure != nil || receipt.Stored != 6 {
		t.Fatalf("the receipt is %+v", receipt)
	}
	key := b.plan.Keys().Samples("fast.node", "a.r002")
	body := b.store.objects[key]
	d := b.document("a.r002")
	if d.Samples == nil || d.Samples.Key != key || d.Samples.Bytes != len(body) || d.Samples.Digest != trial.Digest(body) {
		t.Errorf("the document names %+v", d.Samples)
	}
	if i, j := slices.Index(b.store.puts, key), slices.Index(b.store.puts, b.plan.Keys().Trial("fast.node", "a.r002")); i < 0 || j < i {
		t.Errorf("the document was uploaded before the samples: %v", b.store.puts)
	}
	table, err := codec.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	reads := table.Select(samples.Workload, "read")
	if len(reads) != 1 || math.Abs(table.Values[samples.Count][reads[0]]-7) > 1e-6 || len(table.Select(samples.Machine, "")) != 1 {
		t.Errorf("%d rows: %+v", table.Len(), table)
	}
	if idle := b.summary().Environment.Idle; idle["seconds"].Value <= 0 {
		t.Errorf("the baseline is %+v", idle)
	}
}

// Samples that are too many for an object are thinned out.
func TestSamplesThatAreTooLargeAreThinned(t *testing.T) {
	o := &observed{limit: 20000}
	b := newBed(t)
	w, err := newWorker(Options{Plan: b.plan, Worker: b.plan.Workers[0].Name, Spool: b.spool, Clock: SystemClock{}})
	if err != nil {
		t.Fatal(err)
	}
	o.sampler = w.watch(w.targetOf(nil)).Start(time.Second)
	time.Sleep(450 * time.Millisecond)
	o.sampler.Stop()
	d := &result.Trial{}
	whole := o.encode(d)
	if len(whole) == 0 {
		t.Fatal("nothing was encoded")
	}
	o.limit = len(whole) - 1
	half := o.encode(d)
	if len(half) == 0 || len(half) >= len(whole) || len(d.Notes) != 0 {
		t.Errorf("%d bytes of %d, %v", len(half), len(whole), d.Notes)
	}
	o.limit = 10
	if none := o.encode(d); none != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "could not be stored") {
		t.Errorf("%d bytes, %v", len(none), d.Notes)
	}
	if (*observed)(nil).encode(d) != nil {
		t.Error("a trial that did not run has samples")
	}
}

package runner

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

// A worker's next Pod takes what the one before it stored, and nothing that others put there or changed.
func TestAnotherAttemptTakesOnlyTrialsWithItsSeal(t *testing.T) {
	key := result.SealingKey("the worker's")
	b := newBed(t)
	b.change = func(o *Options) { o.SealingKey = key }
	ctx, kill := context.WithCancel(t.Context())
	b.engine.run = func(_ context.Context, env workload.Env) error {
		if env.Trial.ID == allTrials[3] {
			kill()
			return ctx.Err()
		}
		return nil
	}
	b.run(ctx)
	keys := b.plan.Keys()
	at := func(i int) string { return keys.Trial("fast.node", allTrials[i]) }
	first, second := b.store.objects[at(0)], b.store.objects[at(1)]
	if !key.Sealed(first) || !key.Sealed(b.store.objects[keys.WorkerSummary("fast.node")]) {
		t.Fatalf("the worker stored without a seal: %.100s", first)
	}
	// A number is changed; a document of the same form is planted, with no seal and with one of another key.
	b.store.objects[at(1)] = bytes.Replace(second, []byte(`"attempt": 1`), []byte(`"attempt": 2`), 1)
	b.store.objects[at(4)] = bytes.ReplaceAll(unsealed(first), []byte(allTrials[0]), []byte(allTrials[4]))
	b.store.objects[at(5)] = result.SealingKey("another's").Seal(bytes.ReplaceAll(unsealed(second), []byte(allTrials[1]), []byte(allTrials[5])))
	b.engine.run, b.engine.ran = nil, nil
	receipt := b.run(t.Context())
	if want := []string{allTrials[1], allTrials[3], allTrials[4], allTrials[5]}; receipt.Failure != nil || !slices.Equal(b.engine.ran, want) {
		t.Errorf("ran %v, want %v: %+v", b.engine.ran, want, receipt)
	}
}

func TestASummaryWithoutTheSealIsOnlyNotReadAgain(t *testing.T) {
	b := newBed(t)
	b.change = func(o *Options) { o.SealingKey = result.SealingKey("the worker's") }
	b.run(t.Context())
	at := b.plan.Keys().WorkerSummary("fast.node")
	b.store.objects[at] = unsealed(b.store.objects[at])
	b.engine.ran = nil
	if receipt := b.run(t.Context()); receipt.Failure != nil || len(b.engine.ran) != 0 || receipt.Stored != 6 {
		t.Errorf("ran %v: %+v", b.engine.ran, receipt)
	}
}

func unsealed(document []byte) []byte {
	return append([]byte("{"), document[result.SealBytes+1:]...)
}

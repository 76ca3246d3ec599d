package results

import (
	"encoding/json"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Of a worker that left no receipt, only what has its seal counts: whoever has the bucket's access key can write the rest.
func TestWithoutAReceiptOnlySealedDocumentsCount(t *testing.T) {
	keys := plan.Keys()
	key, others := result.SealingKey("the worker's"), result.SealingKey("another worker's")
	summary, first, second := keys.WorkerSummary(self.Name), keys.Trial(self.Name, plan.Trials[0].ID), keys.Trial(self.Name, plan.Trials[1].ID)
	forged := documentOf(self, plan.Trials[1])
	forged.Metrics = result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 1e9}}
	type sealedBy struct {
		key      result.SealingKey
		document any
	}
	for name, c := range map[string]struct {
		stored map[string]sealedBy
		want   int32
		class  trial.Class
	}{
		"all by the worker": {map[string]sealedBy{
			summary: {key, summaryOf(self, plan.Trials[0])}, first: {key, documentOf(self, plan.Trials[0])}, second: {key, documentOf(self, plan.Trials[1])},
		}, 2, ""},
		"a trial beside its own": {map[string]sealedBy{summary: {key, summaryOf(self, plan.Trials[0])}, second: {nil, forged}}, 1, reason.WorkerLost},
		"a trial with the seal of another worker": {map[string]sealedBy{
			first: {key, documentOf(self, plan.Trials[0])}, second: {others, forged},
		}, 1, reason.WorkerLost},
		"only trials that somebody planted": {map[string]sealedBy{first: {nil, documentOf(self, plan.Trials[0])}, second: {others, forged}}, 0, reason.WorkerLost},
		"another summary":                   {map[string]sealedBy{summary: {nil, summaryOf(self, plan.Trials...)}, first: {key, documentOf(self, plan.Trials[0])}}, 0, reason.ResultsRejected},
		"a summary of another worker's key": {map[string]sealedBy{summary: {others, summaryOf(self, plan.Trials...)}}, 0, reason.ResultsRejected},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			for at, what := range c.stored {
				document, err := json.Marshal(what.document)
				if err != nil {
					t.Fatal(err)
				}
				b.put(t, at, what.key.Seal(document))
			}
			settled, err := settle(t.Context(), b, plan, self, nil, nil, proof{key: key})
			if err != nil {
				t.Fatal(err)
			}
			class := trial.Class("")
			if settled.Failure != nil {
				class = settled.Failure.Class
			}
			if settled.Stored != c.want || class != c.class {
				t.Errorf("%d trials, failure %q; want %d, %q: %+v", settled.Stored, class, c.want, c.class, settled.Failure)
			}
		})
	}
}

// The digest in a receipt is the worker's own word: no seal is asked for beside it.
func TestAReceiptVouchesForASummaryWithoutASeal(t *testing.T) {
	b := newBucket(t)
	digest := trial.Digest(b.put(t, plan.Keys().WorkerSummary(self.Name), summaryOf(self, plan.Trials...)))
	settled, err := settle(t.Context(), b, plan, self, nil, &trial.Receipt{SummaryDigest: digest}, proof{digest: digest})
	if err != nil || settled.Stored != 2 || settled.Failure != nil {
		t.Errorf("%+v, %v", settled, err)
	}
}

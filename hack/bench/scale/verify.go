package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// verify compares the executed trials, the stored trials and the plans. A trial is lost
// if it is planned but not stored, and repeated if it was executed more than once.
func (b *bench) verify(ctx context.Context) (lost, repeated, stored int, err error) {
	inStore := map[string]bool{}
	for i := range tenants {
		keys, err := b.cluster.bucket.List(ctx, tenant(i)+"/", math.MaxInt)
		if err != nil {
			return 0, 0, 0, err
		}
		for _, key := range keys {
			inStore[key] = true
		}
	}
	for key := range inStore {
		if strings.Contains(key, "/trials/") {
			stored++
		}
		if !strings.HasSuffix(key, "/plan.json") {
			continue
		}
		missing, err := b.missing(ctx, key, inStore)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("%s: %w", key, err)
		}
		for _, m := range missing {
			fmt.Fprintf(os.Stderr, "lost: %s\n", m)
		}
		lost += len(missing)
	}
	b.kubelets.mu.Lock()
	defer b.kubelets.mu.Unlock()
	for key, n := range b.kubelets.ran {
		if n > 1 {
			fmt.Fprintf(os.Stderr, "run %d times: %s\n", n, key)
			repeated++
		}
	}
	return lost, repeated, stored, nil
}

// missing returns the objects of a plan's run that are missing in the store or in its
// summary.
func (b *bench) missing(ctx context.Context, planKey string, inStore map[string]bool) (missing []string, err error) {
	document, err := b.cluster.bucket.Get(ctx, planKey)
	if err != nil {
		return nil, err
	}
	p, err := trial.DecodePlan(document, "")
	if err != nil {
		return nil, err
	}
	for _, w := range p.Workers {
		for _, t := range p.Trials {
			if key := p.Keys().Trial(w.Name, t.ID); !inStore[key] {
				missing = append(missing, key)
			}
		}
	}
	document, err = b.cluster.bucket.Get(ctx, p.Keys().Summary())
	if err != nil {
		return nil, err
	}
	summary := result.Summary{}
	if err := result.Decode(document, result.SummarySchema, &summary); err != nil {
		return nil, err
	}
	if want := len(p.Workers) * len(p.Trials); summary.Stored != want {
		missing = append(missing, fmt.Sprintf("%s: %d of %d trials", p.Keys().Summary(), summary.Stored, want))
	}
	return missing, nil
}

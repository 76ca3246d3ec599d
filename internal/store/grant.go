package store

import (
	"context"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// NewGrant signs the grant of a worker: for its own objects only, and up to the sizes
// that readers accept.
func NewGrant(ctx context.Context, signer Signer, p *trial.Plan, worker string, valid time.Duration, now time.Time) (*trial.Grant, error) {
	keys := p.Keys()
	limits := map[string]int{keys.WorkerSummary(worker): result.MaxWorkerSummary}
	get := []string{keys.WorkerSummary(worker)}
	for _, t := range p.Trials {
		limits[keys.Trial(worker, t.ID)] = result.MaxTrial
		limits[keys.Raw(worker, t.ID)] = result.MaxRaw
		limits[keys.Samples(worker, t.ID)] = result.MaxSamples
		get = append(get, keys.Trial(worker, t.ID))
	}
	grant := &trial.Grant{Expires: now.Add(valid), Get: make(map[string]string, len(get))}
	var err error
	if grant.Uploads, err = signer.SignUploads(ctx, limits, valid); err != nil {
		return nil, err
	}
	for _, key := range get {
		if grant.Get[key], err = signer.SignGet(ctx, key, valid); err != nil {
			return nil, err
		}
	}
	return grant, nil
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/trial"
)

const (
	// quickLimit bounds an upload between two trials.
	quickLimit = 20 * time.Second
	// storeLimit is how long a worker waits for a store when it starts. It does not begin a
	// benchmark whose results it cannot store.
	storeLimit = 5 * time.Minute
)

// uploader keeps objects in the spool, on disk, until they are in the store.
type uploader struct {
	objects store.Objects
	spool   *dir.Store
	clock   Clock
	log     *slog.Logger
	prefix  string   // of the run's keys
	trials  string   // prefix of the keys of this worker's trials
	pending []string // keys, in the order they were added
	// stored are the keys of trials that are in the store.
	stored map[string]bool
}

func newUploader(o Options) (*uploader, error) {
	spool, err := dir.New(filepath.Join(o.Spool, "objects"))
	if err != nil {
		return nil, fmt.Errorf("runner: the spool: %w", err)
	}
	keys := o.Plan.Keys()
	return &uploader{
		objects: o.Objects, spool: spool, clock: o.Clock, log: o.Log,
		prefix: keys.Prefix(), trials: keys.Trials(o.Worker), stored: map[string]bool{},
	}, nil
}

// add writes an object to the spool, where it survives the process.
func (u *uploader) add(ctx context.Context, key string, body []byte) (result.Object, error) {
	if err := u.spool.Put(context.WithoutCancel(ctx), key, body); err != nil {
		return result.Object{}, fmt.Errorf("runner: the spool: %w", err)
	}
	if !slices.Contains(u.pending, key) {
		u.pending = append(u.pending, key)
	}
	return result.Object{Key: key, Bytes: len(body), Digest: trial.Digest(body)}, nil
}

// recover uploads what an earlier process left in the spool. A trial's raw output and samples
// are uploaded before its document.
func (u *uploader) recover(ctx context.Context) error {
	keys, err := u.spool.List(ctx, u.prefix, math.MaxInt)
	if err != nil {
		return fmt.Errorf("runner: the spool: %w", err)
	}
	slices.Sort(keys) // …/raw/… and …/samples/… come before …/trials/…
	u.pending = keys
	return u.waitForStore(ctx)
}

// flush uploads what is pending, in order, until an upload fails.
func (u *uploader) flush(ctx context.Context) error {
	for len(u.pending) > 0 {
		key := u.pending[0]
		body, err := u.spool.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("runner: the spool: %w", err)
		}
		if err := u.objects.Put(ctx, key, body); err != nil {
			return err
		}
		u.pending = u.pending[1:]
		if strings.HasPrefix(key, u.trials) {
			u.stored[key] = true
		}
		if err := u.spool.Delete(key); err != nil {
			return fmt.Errorf("runner: the spool: %w", err)
		}
	}
	return nil
}

// attempt uploads between trials. If the store is unreachable, the objects stay pending;
// it returns an error only if trying again cannot help.
func (u *uploader) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quickLimit)
	defer cancel()
	err := u.flush(ctx)
	if err != nil && store.Temporary(err) {
		u.log.Warn("the result store is unreachable; continuing, and trying again", "pending", len(u.pending), "error", err)
		return nil
	}
	return notStored(err)
}

// waitForStore uploads what is pending, with retries for a few minutes.
func (u *uploader) waitForStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	return u.drain(ctx)
}

// drain uploads until nothing is pending or ctx ends.
func (u *uploader) drain(ctx context.Context) error {
	return notStored(u.retry(ctx, func() error { return u.flush(ctx) }))
}

// get reads an object with retries for a few minutes.
func (u *uploader) get(ctx context.Context, key string, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	var body []byte
	err := u.retry(ctx, func() (err error) {
		body, err = u.objects.GetLimited(ctx, key, limit)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrTooLarge) {
		return nil, err
	}
	return body, notStored(err)
}

// retry repeats f with exponential backoff and jitter while its error is
// temporary, until ctx ends; then it returns f's last error.
func (u *uploader) retry(ctx context.Context, f func() error) error {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = 500*time.Millisecond, 30*time.Second
	for {
		err := f()
		if err == nil || !store.Temporary(err) {
			return err
		}
		wait := delays.NextBackOff()
		u.log.Warn("the result store is unreachable; trying again", "in", wait.Round(time.Millisecond).String(), "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-u.clock.After(wait):
		}
	}
}

// notStored returns an error of the store as a failure with a remedy.
func notStored(err error) error {
	if err == nil {
		return nil
	}
	remedy := "make sure that the node can reach the store"
	switch {
	case errors.Is(err, store.ErrNoBucket):
		remedy = "create the bucket, or correct it in the ResultStore"
	case errors.Is(err, store.ErrCredentials):
		remedy = "correct the ResultStore's Secret"
	case errors.Is(err, store.ErrDenied):
		remedy = "allow s3:GetObject and s3:PutObject under the ResultStore's prefix"
	case errors.Is(err, store.ErrExpired):
		remedy = "make sure that the clocks of the node and the store agree, then change spec.runID to run again"
	case errors.Is(err, store.ErrTLS):
		remedy = "set the ResultStore's caBundle to the certificate that signs the server's"
	case errors.Is(err, os.ErrPermission):
		remedy = "check the permissions of the directory"
	}
	return &trial.Failure{Class: reason.ResultsNotStored, Field: "spec.results.storeRef", Message: err.Error(), Remedy: remedy, Err: err}
}

package inbox

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"storagebench.io/storagebench/internal/fair"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
)

// pause is how long an object in the Backing stays as it is: a worker writes its summary twice.
const pause = time.Second

// ErrFull reports that there is no room. It may pass: runs end.
var ErrFull = errors.New("the operator holds too many results of runs without a ResultStore")

// Backing keeps objects, compressed, where a restart of the operator finds them again.
type Backing interface {
	// Load returns every object by its key.
	Load(ctx context.Context) (map[string][]byte, error)
	Save(ctx context.Context, key string, compressed []byte) error
	// Delete succeeds if there is no such object.
	Delete(ctx context.Context, key string) error
}

// Identity is what the inbox signs and is known by. It must survive a restart, as workers hold
// forms that are signed with it.
type Identity struct {
	// Key signs forms and URLs.
	Key []byte
	// Certificate and PrivateKey of the server, as PEM. The certificate is its own authority.
	Certificate, PrivateKey []byte
}

// Inbox is a store in the operator.
type Inbox struct {
	// URL under which workers reach it, https://HOST:PORT.
	URL string
	// Identity returns the identity; it is called until it succeeds once.
	Identity func(context.Context) (Identity, error)
	Backing  Backing
	// Now tells the time.
	Now func() time.Time

	open     sync.Mutex // held while the inbox is opened
	identity *Identity

	mu      sync.Mutex
	objects map[string]*object
	number  uint64       // of the last object that was put
	uploads *fair.Places // by namespace
}

var (
	_ store.Store  = (*Inbox)(nil)
	_ store.Signer = (*Inbox)(nil)
)

type object struct {
	// body is compressed; nil if it was dropped.
	body   []byte
	digest string
	backed bool
	number uint64
	at     time.Time
}

// Check reports whether the inbox can be used.
func (in *Inbox) Check(ctx context.Context) error {
	_, err := in.opened(ctx)
	return err
}

// Certificate returns the PEM that its clients trust.
func (in *Inbox) Certificate(ctx context.Context) ([]byte, error) {
	identity, err := in.opened(ctx)
	if err != nil {
		return nil, err
	}
	return identity.Certificate, nil
}

// opened reads the identity and the Backing, once.
func (in *Inbox) opened(ctx context.Context) (*Identity, error) {
	in.open.Lock()
	defer in.open.Unlock()
	if in.identity != nil {
		return in.identity, nil
	}
	identity, err := in.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: the operator's own store: %w", err)
	}
	loaded, err := in.Backing.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: the operator's own store: %w", err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.objects = map[string]*object{}
	for key, body := range loaded {
		in.number++
		in.objects[key] = &object{body: body, backed: true, number: in.number}
	}
	in.uploads = &fair.Places{Max: maxUploads, Spared: sparedTime}
	in.identity = &identity
	return in.identity, nil
}

// class is what is done with an object.
type class int

const (
	kept       class = iota // in the Backing
	baselineOf              // in the Backing, also when its run has ended
	trialOf                 // in memory
	unkept                  // nowhere
)

func classOf(key string) class {
	switch parts := strings.Split(key, "/"); {
	case len(parts) > 5 && parts[3] == "workers" && parts[5] == "trials":
		return trialOf
	case len(parts) > 5 && parts[3] == "workers" && (parts[5] == "raw" || parts[5] == "samples"):
		return unkept
	case isBaseline(key):
		return baselineOf
	case len(parts) == 4 && parts[3] == "summary.json":
		return trialOf // the run's own, which is folded into its status at once
	}
	return kept
}

func isPlan(key string) bool {
	return strings.Count(key, "/") == 3 && strings.HasSuffix(key, "/plan.json")
}

// isBaseline reports whether an object is the summary of a run that later ones are compared with.
func isBaseline(key string) bool {
	return strings.Count(key, "/") == 3 && strings.HasSuffix(key, "/baseline.json")
}

// planKey returns the key of the plan of an object's run, or "".
func planKey(key string) string {
	parts := strings.SplitN(key, "/", 4)
	if len(parts) < 4 {
		return ""
	}
	return strings.Join(parts[:3], "/") + "/plan.json"
}

func namespaceOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}

// Put stores an object for the operator.
func (in *Inbox) Put(ctx context.Context, key string, body []byte) error {
	if _, err := in.opened(ctx); err != nil {
		return err
	}
	if err := store.CheckKey(key); err != nil {
		return err
	}
	small, err := compress(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("store: put %s: %w", key, err)
	}
	return in.put(ctx, key, small, "", true)
}

// compress returns what a reader has, compressed, or an error that wraps store.ErrTooLarge.
func compress(r io.Reader) ([]byte, error) {
	out := &bounded{limit: MaxObject}
	w, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(w, r)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return slices.Clip(out.Bytes()), nil
}

// bounded is a buffer that holds at most limit bytes.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("%w: compressed, it has more than the %d bytes that the operator holds without a ResultStore; set spec.results.storeRef", store.ErrTooLarge, b.limit)
	}
	return b.Buffer.Write(p)
}

// put stores a compressed object. Uploads of workers are told from the operator's own.
func (in *Inbox) put(ctx context.Context, key string, body []byte, digest string, own bool) error {
	if classOf(key) == unkept {
		return nil
	}
	backed := classOf(key) == kept || classOf(key) == baselineOf
	in.mu.Lock()
	old, now := in.objects[key], in.Now()
	switch {
	case !own && in.objects[planKey(key)] == nil: // while the file was read
		in.mu.Unlock()
		return fmt.Errorf("store: put %s: %w: the run has ended", key, store.ErrDenied)
	case old != nil && digest != "" && old.digest == digest && old.body != nil:
		in.mu.Unlock()
		return nil
	case !own && backed && old != nil && now.Sub(old.at) < pause:
		in.mu.Unlock()
		return fmt.Errorf("store: put %s: %w: it was written less than a second ago", key, store.ErrUnreachable)
	}
	if err := in.room(key, len(body)); err != nil {
		in.mu.Unlock()
		return fmt.Errorf("store: put %s: %w", key, err)
	}
	in.number++
	mine := &object{body: body, digest: digest, backed: backed, number: in.number, at: now}
	in.objects[key] = mine
	in.mu.Unlock()
	if !backed {
		return nil
	}
	err := in.Backing.Save(ctx, key, body)
	if err == nil {
		in.mu.Lock()
		_, held := in.objects[key]
		in.mu.Unlock()
		if held {
			return nil
		}
		return in.Backing.Delete(ctx, key) // it was dropped meanwhile
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.objects[key] == mine { // nobody has written it since
		if delete(in.objects, key); old != nil {
			in.objects[key] = old
		}
	}
	return fmt.Errorf("store: put %s: %w: %w", key, store.ErrUnreachable, err)
}

// Get returns an object of at most result.MaxDocument bytes.
func (in *Inbox) Get(ctx context.Context, key string) ([]byte, error) {
	return in.GetLimited(ctx, key, result.MaxDocument)
}

// compressed returns an object as it is held, or nil.
func (in *Inbox) compressed(key string) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	if o := in.objects[key]; o != nil {
		return o.body
	}
	return nil
}

// GetLimited returns an object of at most limit bytes.
func (in *Inbox) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	if _, err := in.opened(ctx); err != nil {
		return nil, err
	}
	body := in.compressed(key)
	if body == nil {
		return nil, fmt.Errorf("store: get %s: %w", key, store.ErrNotFound)
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("store: get %s: %w", key, err)
	}
	out, err := store.ReadLimited(r, limit)
	if err != nil {
		return nil, fmt.Errorf("store: get %s: %w", key, err)
	}
	return out, nil
}

// List returns the keys below prefix, at most so many, also of documents that were dropped.
func (in *Inbox) List(ctx context.Context, prefix string, most int) ([]string, error) {
	if _, err := in.opened(ctx); err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	var keys []string
	for key := range in.objects {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if len(keys) == most {
			return nil, fmt.Errorf("store: list %s: %w", prefix, store.TooMany(most))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Keep is what of a benchmark is not dropped.
type Keep struct {
	// Run that is kept whole; empty: none.
	Run string
	// Baselines are the runs whose summaries for later comparisons are kept.
	Baselines []string
}

func (k Keep) keeps(run, key string) bool {
	return k.Run != "" && run == k.Run || isBaseline(key) && slices.Contains(k.Baselines, run)
}

// Drop deletes what is held of a benchmark's runs, except of what is to be kept.
func (in *Inbox) Drop(ctx context.Context, namespace, name string, keep Keep) error {
	if _, err := in.opened(ctx); err != nil {
		return err
	}
	prefix := namespace + "/" + name + "/"
	in.mu.Lock()
	var backed []string
	for key, o := range in.objects {
		rest, ok := strings.CutPrefix(key, prefix)
		if run, _, _ := strings.Cut(rest, "/"); !ok || keep.keeps(run, key) {
			continue
		}
		if o.backed {
			backed = append(backed, key)
		} else {
			delete(in.objects, key)
		}
	}
	in.mu.Unlock()
	// The plan goes first: without it, nobody can upload any more.
	slices.SortFunc(backed, func(a, b string) int {
		if isPlan(a) != isPlan(b) {
			return map[bool]int{true: -1, false: 1}[isPlan(a)]
		}
		return strings.Compare(a, b)
	})
	for _, key := range backed {
		if err := in.Backing.Delete(ctx, key); err != nil {
			return fmt.Errorf("store: delete %s: %w", key, err)
		}
		in.mu.Lock()
		delete(in.objects, key)
		in.mu.Unlock()
	}
	return nil
}

// Benchmarks returns the namespaces and names of which something is held, each as two strings.
func (in *Inbox) Benchmarks(ctx context.Context) ([][2]string, error) {
	keys, err := in.List(ctx, "", math.MaxInt)
	var all [][2]string
	for _, key := range keys {
		parts := strings.SplitN(key, "/", 3)
		if len(parts) == 3 && !slices.Contains(all, [2]string{parts[0], parts[1]}) {
			all = append(all, [2]string{parts[0], parts[1]})
		}
	}
	return all, err
}

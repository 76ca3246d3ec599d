package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// Host reads and writes knobs. tunable.Host implements it.
type Host interface {
	BootID() (string, error)
	Read(ctx context.Context, k tunable.Knob) (tunable.State, error)
	Prepare(ctx context.Context, k tunable.Knob, value string) (old, wanted tunable.State, err error)
	Write(ctx context.Context, k tunable.Knob, s tunable.State) error
	// Settle waits after a write until the kernel has changed what it changes along with the knob.
	Settle(ctx context.Context, k tunable.Knob) error
	Companions(k tunable.Knob) []tunable.Knob
	Locate(ctx context.Context, k tunable.Knob, sameBoot bool) (tunable.Location, error)
}

var _ Host = tunable.Host{}

// Step is a moment at which a test may kill the process.
type Step string

// Steps, in their order for one knob.
const (
	BeforeJournal   Step = "before-journal"
	AfterJournal    Step = "after-journal"
	AfterWrite      Step = "after-write"
	AfterApply      Step = "after-apply"
	BeforeRestore   Step = "before-restore"
	AfterMark       Step = "after-mark"
	AfterRestore    Step = "after-restore"
	AfterCompanions Step = "after-companions"
	BeforeDrop      Step = "before-drop"
	AfterDrop       Step = "after-drop"
)

// Options of a journal.
type Options struct {
	// Dir holds the journal; empty: DefaultDir.
	Dir  string
	Host Host
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Permit lists the settings that the journal may contain; nil: any. Open fails if
	// the journal contains another setting.
	Permit []trial.Tunable
	// Hook is called at each step, for tests that kill the process there.
	Hook func(Step)
}

// Journal is the open journal of a node. It is not safe for concurrent use.
type Journal struct {
	dir     string
	host    Host
	now     func() time.Time
	hook    func(Step)
	store   store
	bootID  string
	entries []Entry
}

// Open opens and locks the journal in a directory, which it creates if
// necessary. Its error is a *trial.Failure. It wraps a *CorruptError if the
// journal is damaged, and ErrBusy if another process has it open.
func Open(o Options) (*Journal, error) {
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	d, err := openDirectory(o.Dir)
	if err != nil {
		return nil, unusable(o.Dir, err)
	}
	return open(o, d)
}

func open(o Options, s store) (*Journal, error) {
	j := &Journal{dir: o.Dir, host: o.Host, now: o.Now, hook: o.Hook, store: s}
	if j.now == nil {
		j.now = time.Now
	}
	if j.hook == nil {
		j.hook = func(Step) {}
	}
	var err error
	if j.bootID, err = o.Host.BootID(); err == nil {
		j.entries, err = load(s, filepath.Join(o.Dir, fileName))
	}
	if err == nil && o.Permit != nil {
		err = checkPermitted(o.Permit, j.entries)
	}
	if err != nil {
		return nil, errors.Join(unusable(o.Dir, err), s.close())
	}
	return j, nil
}

func load(s interface{ load() ([]byte, error) }, path string) ([]Entry, error) {
	b, err := s.load()
	if err != nil || b == nil {
		return nil, err
	}
	entries, err := decode(b)
	if corrupt, ok := errors.AsType[*CorruptError](err); ok {
		corrupt.Path = path
	}
	return entries, err
}

// Close releases the journal's lock. The entries stay.
func (j *Journal) Close() error {
	if err := j.store.close(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Entries returns what has to be restored, in the order of the changes.
func (j *Journal) Entries() []Entry { return append([]Entry(nil), j.entries...) }

// Pending returns the entries of the journal in a directory without locking it.
// No benchmark may start on a node that has any. A missing directory has none.
// Its error is a *trial.Failure, as for Open.
func Pending(dir string) ([]Entry, error) {
	if dir == "" {
		dir = DefaultDir
	}
	d, err := openTrusted(dir, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unusable(dir, err)
	}
	defer func() { _ = d.Close() }() // it was only read
	entries, err := load(reader{d}, filepath.Join(dir, fileName))
	if err != nil {
		return nil, unusable(dir, err)
	}
	return entries, nil
}

type reader struct{ dir *os.File }

func (r reader) load() ([]byte, error) { return loadFile(r.dir) }

// save writes entries to the disk, and only then into j.
func (j *Journal) save(entries []Entry) error {
	var b []byte
	if len(entries) > 0 {
		var err error
		if b, err = encode(entries); err != nil {
			return err
		}
	}
	if err := j.store.replace(b); err != nil {
		return unusable(j.dir, err)
	}
	j.entries = entries
	return nil
}

// edit returns a copy of the entries with one replaced.
func (j *Journal) edit(at int, e Entry) []Entry {
	entries := j.Entries()
	entries[at] = e
	return entries
}

// pendingFailure is the failure on a node that still has changed settings.
func pendingFailure(dir string, entries []Entry) *trial.Failure {
	return &trial.Failure{
		Class:   reason.TunablesNotRestored,
		Message: fmt.Sprintf("settings that %s changed on this node have not been restored (%d, the first is %s; the journal is in %s)", entries[0].Owner, len(entries), entries[0].Knob, dir),
		Remedy:  "run on the node: storagebench restore" + dirFlag(dir),
	}
}

func dirFlag(dir string) string {
	if dir == DefaultDir || dir == "" {
		return ""
	}
	return " --journal " + dir
}

// absent reports whether an error means that the knob does not exist.
func absent(err error) bool {
	return errors.Is(err, tunable.ErrAbsent) || errors.Is(err, os.ErrNotExist)
}

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

// Host reads and writes knobs. tunable.Host is one.
type Host interface {
	BootID() (string, error)
	Read(ctx context.Context, k tunable.Knob) (tunable.State, error)
	Prepare(ctx context.Context, k tunable.Knob, value string) (old, wanted tunable.State, err error)
	Write(ctx context.Context, k tunable.Knob, s tunable.State) error
	Companions(k tunable.Knob) []tunable.Knob
	Locate(ctx context.Context, k tunable.Knob, sameBoot bool) (tunable.Location, error)
}

var _ Host = tunable.Host{}

// Step is a moment at which the process may be killed.
type Step string

// Steps, in the order in which they come for one knob.
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
	// Permit names the settings that may stand in the journal; nil: any. With an entry
	// that none permits, Open fails.
	Permit []trial.Tunable
	// Hook is called at each step, for tests that kill the process there.
	Hook func(Step)
}

// Journal is the open journal of a node. It is not for use by several goroutines.
type Journal struct {
	dir     string
	host    Host
	now     func() time.Time
	hook    func(Step)
	store   store
	bootID  string
	entries []Entry
}

// Open takes the journal in a directory, which it makes if need be, for this
// process. Its error is a *trial.Failure, which wraps a *CorruptError if the
// journal is damaged, and ErrBusy if another process has it.
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

// Close lets the journal go. What is in it stays there.
func (j *Journal) Close() error {
	if err := j.store.close(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Entries returns what has to be put back, in the order in which it was changed.
func (j *Journal) Entries() []Entry { return append([]Entry(nil), j.entries...) }

// Pending returns what the journal in a directory holds, without taking it: no
// benchmark may start on a node where that is anything. No directory is no entry.
// The error is a *trial.Failure, as that of Open.
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

// save brings entries to the disk, and only then into j.
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

// edit is a copy of the entries in which one was changed.
func (j *Journal) edit(at int, e Entry) []Entry {
	entries := j.Entries()
	entries[at] = e
	return entries
}

// pendingFailure refuses a node that is not as it was found.
func pendingFailure(dir string, entries []Entry) *trial.Failure {
	return &trial.Failure{
		Class: reason.TunablesNotRestored,
		Message: fmt.Sprintf("%d tunables that %s changed have not been put back, the first is %s: the journal is in %s",
			len(entries), entries[0].Owner, entries[0].Knob, dir),
		Remedy: "run on the node: storagebench restore" + dirFlag(dir),
	}
}

func dirFlag(dir string) string {
	if dir == DefaultDir || dir == "" {
		return ""
	}
	return " --journal " + dir
}

// absent says whether a knob is not there.
func absent(err error) bool {
	return errors.Is(err, tunable.ErrAbsent) || errors.Is(err, os.ErrNotExist)
}

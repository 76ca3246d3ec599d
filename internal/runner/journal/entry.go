package journal

import (
	"time"

	"storagebench.io/storagebench/internal/tunable"
)

// Owner is the benchmark that changed a knob.
type Owner struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	Worker    string `json:"worker"`
}

// String names the owner for display.
func (o Owner) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return name + " (run " + o.Run + ", worker " + o.Worker + ")"
}

// Stage is how far an entry has come.
type Stage string

// Stages of an entry.
const (
	Planned   Stage = "Planned"   // the new value may have been written
	Applied   Stage = "Applied"   // it was written, and Seen is what the kernel made of it
	Restoring Stage = "Restoring" // the old value may have been written
)

// Entry is one knob that has to be restored.
type Entry struct {
	Knob  tunable.Knob  `json:"knob"`
	Owner Owner         `json:"owner"`
	Stage Stage         `json:"stage"`
	Old   tunable.State `json:"old"`
	New   tunable.State `json:"new"`
	// Seen is the state read back after New was written, or after Old was, if the kernel made something else of it.
	Seen *tunable.State `json:"seen,omitempty"`
	// Companions are other knobs of the same disk, in the order in which they are restored.
	Companions []Companion `json:"companions,omitempty"`
	// Foreign is a state that somebody else set, if that was seen.
	Foreign *tunable.State `json:"foreign,omitempty"`
	BootID  string         `json:"bootID"`
	Time    time.Time      `json:"time"`

	// settled is the outcome of an entry whose knob was restored although the
	// journal could not be written. It is not on disk.
	settled *Item
}

// Companion is a knob that the kernel may have changed when another one was
// written.
type Companion struct {
	Tunable string        `json:"tunable"`
	Old     tunable.State `json:"old"`
	// Seen is its state after the other one was written.
	Seen *tunable.State `json:"seen,omitempty"`
	// Target is the state to restore it to: Old, or the state that somebody else set; nil: what the kernel makes
	// of the other one.
	Target *tunable.State `json:"target,omitempty"`
}

// knob returns the companion's knob on the device of k.
func (c Companion) knob(k tunable.Knob) tunable.Knob {
	k.Tunable = c.Tunable
	return k
}

// latest returns the state that was last recorded.
func (c Companion) latest() tunable.State {
	if c.Seen != nil {
		return *c.Seen
	}
	return c.Old
}

// right reports whether the companion has its target state, or what the kernel by itself has made of that.
func (c Companion) right(k tunable.Knob, present tunable.State) bool {
	return k.Same(present, *c.Target) || k.Drifted(present, *c.Target)
}

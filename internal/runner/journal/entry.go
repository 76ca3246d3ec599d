package journal

import (
	"time"

	"storagebench.io/storagebench/internal/tunable"
)

// Owner is who has changed a knob.
type Owner struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	Worker    string `json:"worker"`
}

// String names the owner for people.
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
	Applied   Stage = "Applied"   // it was, and Seen says what came of it
	Restoring Stage = "Restoring" // the old value may have been written
)

// Entry is one knob that has to be put back.
type Entry struct {
	Knob  tunable.Knob  `json:"knob"`
	Owner Owner         `json:"owner"`
	Stage Stage         `json:"stage"`
	Old   tunable.State `json:"old"`
	New   tunable.State `json:"new"`
	// Seen is what was read back after New was written.
	Seen *tunable.State `json:"seen,omitempty"`
	// Companions are other knobs of the same disk, in the order in which they are put back.
	Companions []Companion `json:"companions,omitempty"`
	// Foreign is a value that somebody else has set, when that was seen.
	Foreign *tunable.State `json:"foreign,omitempty"`
	BootID  string         `json:"bootID"`
	Time    time.Time      `json:"time"`

	// settled is what came of the entry when its knob was put back, and the journal
	// could not be written. Only this process knows it.
	settled *Item
}

// Companion is a knob that the kernel may have changed along with another one.
type Companion struct {
	Tunable string        `json:"tunable"`
	Old     tunable.State `json:"old"`
	// Seen is what it had when the other one had been written.
	Seen *tunable.State `json:"seen,omitempty"`
	// Target is what it is to have when the other one has been put back: Old, or what
	// somebody else has set.
	Target *tunable.State `json:"target,omitempty"`
}

// knob of the companion, on the device that k is of.
func (c Companion) knob(k tunable.Knob) tunable.Knob {
	k.Tunable = c.Tunable
	return k
}

package journal

import (
	"fmt"

	"storagebench.io/storagebench/internal/tunable"
)

// Outcome is what happened to an entry.
type Outcome string

// Outcomes of an entry.
const (
	Restored  Outcome = "Restored"  // it was written and read back
	Unchanged Outcome = "Unchanged" // it already had its old value, or a reboot restored it
	Gone      Outcome = "Gone"      // its device or dataset no longer exists
	Foreign   Outcome = "Foreign"   // somebody else changed it: it stays in the journal
	Failed    Outcome = "Failed"    // it could not be restored: it stays in the journal
	Forgotten Outcome = "Forgotten" // it was removed from the journal without a change
)

// Item is what happened to one entry.
type Item struct {
	Knob    tunable.Knob  `json:"knob"`
	Owner   Owner         `json:"owner"`
	Outcome Outcome       `json:"outcome"`
	Old     tunable.State `json:"old"`
	New     tunable.State `json:"new"`
	// Message is a sentence that says what was found and done.
	Message string `json:"message"`
}

// Report is what happened to the entries of a journal.
type Report struct {
	Items []Item `json:"items"`
}

// Count returns how many entries had an outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, i := range r.Items {
		if i.Outcome == o {
			n++
		}
	}
	return n
}

// Complete reports whether the journal is now empty.
func (r Report) Complete() bool { return r.Count(Foreign) == 0 && r.Count(Failed) == 0 }

// First returns the message of the first entry that is left, or "".
func (r Report) First() string {
	for _, i := range r.Items {
		if i.Outcome == Foreign || i.Outcome == Failed {
			return i.Message
		}
	}
	return ""
}

// String returns a line of counts for display.
func (r Report) String() string {
	return fmt.Sprintf("%d restored, %d unchanged, %d gone, %d foreign, %d failed",
		r.Count(Restored), r.Count(Unchanged), r.Count(Gone), r.Count(Foreign), r.Count(Failed))
}

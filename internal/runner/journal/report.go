package journal

import (
	"fmt"

	"storagebench.io/storagebench/internal/tunable"
)

// Outcome is what came of an entry.
type Outcome string

// Outcomes of an entry.
const (
	Restored  Outcome = "Restored"  // it was written and read back
	Unchanged Outcome = "Unchanged" // it had its old value, or a reboot had put it back
	Gone      Outcome = "Gone"      // there is nothing any more that it was a setting of
	Foreign   Outcome = "Foreign"   // somebody else has changed it: it is in the journal still
	Failed    Outcome = "Failed"    // it could not be put back: it is in the journal still
	Forgotten Outcome = "Forgotten" // it was taken off the journal as it was
)

// Item is what came of one entry.
type Item struct {
	Knob    tunable.Knob  `json:"knob"`
	Owner   Owner         `json:"owner"`
	Outcome Outcome       `json:"outcome"`
	Old     tunable.State `json:"old"`
	New     tunable.State `json:"new"`
	// Message is a sentence that says what was found and done.
	Message string `json:"message"`
}

// Report is what came of a journal.
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

// Complete says whether the journal is empty now.
func (r Report) Complete() bool { return r.Count(Foreign) == 0 && r.Count(Failed) == 0 }

// First is the message of the first entry that is left, or else empty.
func (r Report) First() string {
	for _, i := range r.Items {
		if i.Outcome == Foreign || i.Outcome == Failed {
			return i.Message
		}
	}
	return ""
}

// String is a line of counts for people.
func (r Report) String() string {
	return fmt.Sprintf("%d restored, %d unchanged, %d gone, %d foreign, %d failed",
		r.Count(Restored), r.Count(Unchanged), r.Count(Gone), r.Count(Foreign), r.Count(Failed))
}

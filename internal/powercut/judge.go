package powercut

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Verdict is what a cut shows.
type Verdict string

const (
	// Lies: a record whose fdatasync had returned is lost.
	Lies Verdict = "Lies"
	// NoLoss: every such record is there. It proves nothing by itself; see Summary.
	NoLoss Verdict = "NoLoss"
	// NotTried: no fdatasync had returned before the cut.
	NotTried Verdict = "NotTried"
)

// Outcome of one cut.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	// Run is the ID of the run.
	Run string `json:"run"`
	// Synced is how many records had been acknowledged, and Lost how many of these are lost.
	Synced int `json:"synced"`
	Lost   int `json:"lost"`
	// LostRecords are the numbers of the first that are lost.
	LostRecords string `json:"lostRecords,omitempty"`
	// Unsynced is how many records the device had been given but not told to keep (0 or 1), and
	// UnsyncedLost how many of these are lost, as they may be. Of a file nobody knows what
	// the device had been given.
	Unsynced     int `json:"unsynced"`
	UnsyncedLost int `json:"unsyncedLost"`
}

// Judge compares what the witness knows with what is there.
func Judge(log Log, found Found) Outcome {
	const shown = 8
	o := Outcome{Run: log.Run.ID, Synced: log.Synced}
	if log.Run.Device {
		o.Unsynced = log.Wrote - log.Synced
	}
	lost := found.ranges(1, log.Synced, false)
	for _, r := range lost {
		o.Lost += r[1] - r[0] + 1
	}
	if o.Unsynced > 0 && !found.has(log.Wrote) {
		o.UnsyncedLost = o.Unsynced
	}
	switch {
	case o.Lost > 0:
		o.Verdict, o.LostRecords = Lies, printRanges(lost, shown)
	case o.Synced == 0:
		o.Verdict = NotTried
	default:
		o.Verdict = NoLoss
	}
	return o
}

// Sentence says the outcome in words.
func (o Outcome) Sentence() string {
	switch o.Verdict {
	case Lies:
		return fmt.Sprintf("fdatasync returned for %d records, and %d of them are lost: something below it acknowledges flushes without writing the data (lost: %s)", o.Synced, o.Lost, o.LostRecords)
	case NotTried:
		return "the power was cut before the first fdatasync had returned: this shows nothing"
	default:
		return fmt.Sprintf("all %d records for which fdatasync returned are there", o.Synced)
	}
}

// Summary of cuts of the same storage.
type Summary struct {
	Verdict Verdict `json:"verdict"`
	// Cuts are those before which a sync had returned, and Lossy those that lost such a record.
	Cuts  int `json:"cuts"`
	Lossy int `json:"lossy"`
	// Dropped is how many cuts lost a record that was not synced yet: these had a volatile cache
	// to drop.
	Dropped int `json:"dropped"`
	// Bound is the largest probability of a loss that is compatible with this many cuts without
	// one, at 95 % confidence.
	Bound float64 `json:"bound,omitempty"`
}

// Summarise adds up cuts.
func Summarise(outcomes []Outcome) Summary {
	s := Summary{Verdict: NotTried}
	for _, o := range outcomes {
		if o.UnsyncedLost > 0 {
			s.Dropped++
		}
		if o.Verdict == NotTried {
			continue
		}
		s.Cuts++
		if o.Verdict == Lies {
			s.Lossy++
		}
	}
	switch {
	case s.Lossy > 0:
		s.Verdict = Lies
	case s.Cuts > 0:
		s.Verdict, s.Bound = NoLoss, bound(s.Cuts)
	}
	return s
}

// bound solves (1-p)^n = 5 %. For many cuts it is near 3/n.
func bound(cuts int) float64 { return 1 - math.Pow(0.05, 1/float64(cuts)) }

// Sentence says the summary in words.
func (s Summary) Sentence() string {
	switch s.Verdict {
	case Lies:
		return fmt.Sprintf("%d of %s lost data that had been acknowledged: this storage lies about flushes", s.Lossy, count(s.Cuts))
	case NotTried:
		return "no cut came after a sync had returned: this shows nothing"
	}
	text := fmt.Sprintf("no loss in %s: with 95 %% confidence, fewer than %.1f %% of such cuts lose acknowledged data", count(s.Cuts), 100*s.Bound)
	if s.Dropped == 0 {
		text += "; no cut lost a write that was not synced either, so there may have been no volatile cache to drop"
	}
	return text
}

func count(cuts int) string {
	if cuts == 1 {
		return "1 cut"
	}
	return fmt.Sprintf("%d cuts", cuts)
}

// ParseOutcome reads the JSON of an Outcome, and refuses one that Judge never returns.
func ParseOutcome(data []byte) (Outcome, error) {
	var o Outcome
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return Outcome{}, err
	}
	if err := (Run{ID: o.Run, Block: MinBlock, Records: 1}).check(); err != nil {
		return Outcome{}, err
	}
	want := NoLoss
	switch {
	case o.Synced < 0 || o.Lost < 0 || o.Lost > o.Synced || o.UnsyncedLost < 0 || o.UnsyncedLost > o.Unsynced || o.Unsynced > 1:
		return Outcome{}, errors.New("its numbers contradict each other")
	case o.Lost > 0:
		want = Lies
	case o.Synced == 0:
		want = NotTried
	}
	if o.Verdict != want {
		return Outcome{}, fmt.Errorf("its verdict is %q, but its numbers say %s", o.Verdict, want)
	}
	return o, nil
}

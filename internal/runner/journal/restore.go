package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/tunable"
)

// Restore puts back what the journal holds, the last change first, and reports what
// came of each entry. Entries that could not be put back stay in the journal. It may
// be killed and called again at any time.
func (j *Journal) Restore(ctx context.Context) Report {
	var report Report
	for {
		before := len(j.entries)
		var left []Item
		for _, item := range j.pass(ctx) {
			if item.Outcome == Foreign || item.Outcome == Failed {
				left = append(left, item)
			} else {
				report.Items = append(report.Items, item)
			}
		}
		// What an entry began from can be known better when an earlier one is gone: see
		// without.
		if len(left) == 0 || len(j.entries) == before {
			report.Items = append(report.Items, left...)
			return report
		}
	}
}

// pass tries to put back each entry once.
func (j *Journal) pass(ctx context.Context) []Item {
	var items []Item
	var stuck []Entry // those whose knob is not what it was
	for at := range slices.Backward(j.entries) {
		e := j.entries[at] // read anew: an entry behind it may have changed it: see handOver
		r := restoration{journal: j, at: at, entry: e}
		var item Item
		if e.settled != nil {
			item = r.drop(*e.settled)
		} else if first := blocking(e, stuck); first != "" {
			item = r.item(Failed, "%s was not touched: %s has to be put back first, which failed", e.Knob, first)
		} else {
			item = r.run(ctx)
		}
		if item.Outcome == Failed && !r.settled {
			stuck = append(stuck, e)
		}
		items = append(items, item)
	}
	return items
}

// blocking names an entry that was to be put back before e and was not. Writing e
// would change it, and lose what it is to go back to.
func blocking(e Entry, stuck []Entry) string {
	for _, s := range stuck {
		if e.Knob.Device != nil && s.Knob.Device != nil && *e.Knob.Device == *s.Knob.Device {
			return s.Knob.String()
		}
	}
	return ""
}

// Forget takes off the journal what is in it, without touching the knobs. It is for
// when a person has looked at what Restore has left.
func (j *Journal) Forget() (Report, error) {
	var report Report
	for _, e := range slices.Backward(j.entries) {
		report.Items = append(report.Items, e.item(Forgotten, "%s stays as it is; before %s it was %s", e.Knob, e.Owner, e.Old))
	}
	return report, j.save(nil)
}

func (e Entry) item(o Outcome, format string, args ...any) Item {
	return Item{Knob: e.Knob, Owner: e.Owner, Outcome: o, Old: e.Old, New: e.New, Message: fmt.Sprintf(format, args...)}
}

// restoration of one entry.
type restoration struct {
	journal *Journal
	at      int
	entry   Entry
	// knob under its present name, and what was found out about it.
	knob     tunable.Knob
	present  tunable.State
	fresh    bool // whatever does not last may have been lost since
	notes    []string
	touched  bool
	settled  bool // the knob is as it should be, whether the journal says so or not
	location tunable.Location
}

func (r *restoration) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// item is an outcome with the notes behind its sentence.
func (r *restoration) item(o Outcome, format string, args ...any) Item {
	i := r.entry.item(o, format, args...)
	i.Message = strings.Join(append([]string{i.Message}, r.notes...), "; ")
	return i
}

func (r *restoration) run(ctx context.Context) Item {
	e, j := r.entry, r.journal
	sameBoot := e.BootID == j.bootID
	var err error
	if r.location, err = j.host.Locate(ctx, e.Knob, sameBoot); err != nil {
		return r.item(Failed, "%s cannot be put back to %s: %v", e.Knob, e.Old, err)
	}
	switch r.location.Presence {
	case tunable.Gone:
		return r.drop(r.item(Gone, "%s: %s", e.Knob, r.location.Note))
	case tunable.Away:
		return r.item(Failed, "%s cannot be put back to %s: %s", e.Knob, e.Old, r.location.Note)
	case tunable.Here, tunable.Fresh:
	}
	if r.location.Note != "" {
		r.note("%s", r.location.Note)
	}
	r.knob = r.location.Knob
	r.fresh = !sameBoot || r.location.Presence == tunable.Fresh
	if r.present, err = j.host.Read(ctx, r.knob); err != nil {
		return r.item(Failed, "%s cannot be put back to %s: %v", e.Knob, e.Old, err)
	}
	switch {
	case r.right() && e.Stage == Planned:
		// Nothing was ever written, and so whatever companions have is not our doing.
		return r.drop(r.item(Unchanged, "%s was %s already", e.Knob, e.Old))
	case r.fresh && r.knob.Survives() == tunable.Never:
		// Also if it is our value: the kernel has forgotten ours, and our old value may be
		// one that an earlier change had brought about, and the boot has undone.
		return r.drop(r.item(Unchanged, "%s is %s since the node was booted or the disk attached anew, which has undone ours; before that it was %s", e.Knob, r.present, e.Old))
	case r.right() || r.ours():
		return r.putBack(ctx)
	default:
		return r.foreign()
	}
}

func (r *restoration) right() bool {
	return r.knob.Same(r.present, r.entry.Old) && !r.knob.Residue(r.present, r.entry.Old, r.entry.New)
}

// ours says whether the present state is one that this journal's owner has brought
// about, if only by half.
func (r *restoration) ours() bool {
	e := r.entry
	return r.knob.Same(r.present, e.New) || r.knob.Residue(r.present, e.Old, e.New) || e.Seen != nil && r.knob.Same(r.present, *e.Seen) ||
		e.Stage == Restoring && r.present.Value == e.Old.Value
}

// foreign marks the entry and leaves the knob to whoever changed it.
func (r *restoration) foreign() Item {
	e := r.entry
	item := r.item(Foreign, "%s is %s: somebody else has changed it since it was set to %s, and it was left so; before that it was %s", e.Knob, r.present, e.New, e.Old)
	if e.Foreign == nil || *e.Foreign != r.present {
		e.Foreign = &r.present
		if err := r.journal.save(r.journal.edit(r.at, e)); err != nil {
			item.Message += "; the journal could not be written: " + err.Error()
		}
	}
	return item
}

// putBack brings the knob and its companions to where they belong.
func (r *restoration) putBack(ctx context.Context) Item {
	j := r.journal
	r.aim(ctx)
	if r.todo(ctx) {
		j.hook(BeforeRestore)
		r.mark()
		j.hook(AfterMark)
		if !r.right() {
			r.touched = true
			if err := j.host.Write(ctx, r.knob, r.entry.Old); err != nil {
				if item, done := r.handOver(err); done {
					return item
				}
				return r.item(Failed, "%s is %s and cannot be put back to %s: %v", r.entry.Knob, r.present, r.entry.Old, err)
			}
			j.hook(AfterRestore)
		}
		if err := r.companions(ctx); err != nil {
			return r.item(Failed, "%s was put back, but not what else that changes: %v", r.entry.Knob, err)
		}
		j.hook(AfterCompanions)
	}
	seen, err := j.host.Read(ctx, r.knob)
	switch {
	case err != nil:
		return r.item(Failed, "%s was to be put back to %s, and cannot be read: %v", r.entry.Knob, r.entry.Old, err)
	case !r.knob.Same(seen, r.entry.Old):
		return r.item(Failed, "%s was to be put back to %s, and is %s", r.entry.Knob, r.entry.Old, seen)
	case r.touched:
		return r.drop(r.item(Restored, "%s is %s again; it was set to %s", r.entry.Knob, seen, r.entry.New))
	default:
		return r.drop(r.item(Unchanged, "%s was %s already", r.entry.Knob, r.entry.Old))
	}
}

// handOver leaves a knob whose old value is refused to the earlier entry that had brought
// that value about: a scheduler of ours brought nr_requests=256, somebody else has switched
// it off since, and without it the kernel takes no 256. What is to be put back in the end
// is what the earlier entry recorded, and it does that with its companions.
func (r *restoration) handOver(refusal error) (Item, bool) {
	if !errors.Is(refusal, unix.EINVAL) {
		return Item{}, false // it may be taken the next time
	}
	entries := r.journal.Entries()
	for at := r.at - 1; at >= 0; at-- {
		e := &entries[at]
		if e.Knob.Device == nil || r.entry.Knob.Device == nil || *e.Knob.Device != *r.entry.Knob.Device {
			continue
		}
		i := slices.IndexFunc(e.Companions, func(c Companion) bool { return c.Tunable == r.entry.Knob.Tunable })
		if i < 0 || e.Companions[i].Old == r.entry.Old {
			continue
		}
		present := r.present
		e.Companions = slices.Clone(e.Companions)
		e.Companions[i].Seen = &present // so that it is known to be ours
		item := r.item(Unchanged, "%s is put back with %s, which had brought about the %s that is refused now", r.entry.Knob, e.Knob, r.entry.Old)
		if err := r.journal.save(slices.Delete(entries, r.at, r.at+1)); err != nil {
			return r.item(Failed, "%s cannot be put back to %s, and the journal could not be written: %v", r.entry.Knob, r.entry.Old, err), true
		}
		r.settled = true
		return item, true
	}
	return Item{}, false
}

// aim decides what the companions are to have.
func (r *restoration) aim(ctx context.Context) {
	r.entry.Companions = slices.Clone(r.entry.Companions)
	for i := range r.entry.Companions {
		c := &r.entry.Companions[i]
		present, err := r.journal.host.Read(ctx, c.knob(r.knob))
		if r.fresh {
			// What the boot has put there stays there, through what is written now.
			c.Target = nil
			if err == nil {
				c.Target = &present
			}
			continue
		}
		if r.entry.Stage == Restoring {
			continue // it was decided before a crash, when it could still be seen
		}
		k := c.knob(r.knob)
		c.Target = &c.Old
		if err == nil && c.Seen != nil && !k.Same(present, c.Old) && !k.Same(present, *c.Seen) {
			r.note("%s is %s, which somebody else has set, and stays", k, present)
			c.Target = &present
		}
	}
}

// todo says whether anything is to be written.
func (r *restoration) todo(ctx context.Context) bool {
	return !r.right() || r.wrong(ctx) != nil
}

// wrong says which companion is not what it is to be.
func (r *restoration) wrong(ctx context.Context) error {
	for _, c := range r.entry.Companions {
		if c.Target == nil {
			continue
		}
		k := c.knob(r.knob)
		if s, err := r.journal.host.Read(ctx, k); err != nil {
			return err
		} else if !k.Same(s, *c.Target) {
			return fmt.Errorf("%s is %s and not %s", k, s, c.Target)
		}
	}
	return nil
}

// mark records that the knobs are on their way back, and where to. If it cannot be
// recorded, because the benchmark has filled the disk, say, they are put back all
// the same: the journal still has the old values, and a crash in the next
// milliseconds is less likely than a node that is left changed.
func (r *restoration) mark() {
	e := r.entry
	e.Stage, e.Foreign = Restoring, nil
	if err := r.journal.save(r.journal.edit(r.at, e)); err != nil {
		r.note("the journal could not be written before: %v", err)
		return
	}
	r.entry = e
}

// companions puts back what the kernel has changed along with the knob. Writing one
// can reset another, and so it is done until all are right.
func (r *restoration) companions(ctx context.Context) error {
	var failures []error
	for range 3 {
		failures = nil
		for _, c := range r.entry.Companions {
			if c.Target == nil {
				continue
			}
			k := c.knob(r.knob)
			s, err := r.journal.host.Read(ctx, k)
			if err == nil && !k.Same(s, *c.Target) {
				r.touched = true
				err = r.journal.host.Write(ctx, k, *c.Target)
			}
			failures = append(failures, err)
		}
		if r.wrong(ctx) == nil {
			return nil
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return r.wrong(ctx)
}

// drop takes the entry off the journal. Until that is on the disk, it is in it.
func (r *restoration) drop(item Item) Item {
	j := r.journal
	r.settled = true
	j.hook(BeforeDrop)
	entries := j.Entries()
	for i := r.at + 1; i < len(entries); i++ {
		entries[i] = entries[i].without(r.entry)
	}
	if err := j.save(slices.Delete(entries, r.at, r.at+1)); err != nil {
		done := item
		j.entries[r.at].settled = &done
		item.Outcome = Failed
		item.Message += "; but the journal could not be written, and still holds it: " + err.Error()
		return item
	}
	j.hook(AfterDrop)
	return item
}

// without returns a later entry as it would be if earlier had never been: what it
// recorded as old is what earlier had made of it, and that has been put back. It
// matters for an entry that stays because somebody else has changed its knob.
func (e Entry) without(earlier Entry) Entry {
	if e.Knob.Device == nil || earlier.Knob.Device == nil || *e.Knob.Device != *earlier.Knob.Device {
		return e
	}
	before := map[string]tunable.State{earlier.Knob.Tunable: earlier.Old}
	for _, c := range earlier.Companions {
		before[c.Tunable] = c.Old
	}
	if old, ok := before[e.Knob.Tunable]; ok {
		e.Old = old
	}
	e.Companions = slices.Clone(e.Companions)
	for i := range e.Companions {
		c := &e.Companions[i]
		old, ok := before[c.Tunable]
		if !ok {
			continue
		}
		if c.Target != nil && *c.Target == c.Old {
			c.Target = &old
		}
		c.Old = old
	}
	return e
}

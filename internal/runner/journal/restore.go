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

// Restore restores the settings in the journal, the last change first, and reports
// what happened to each entry. Entries that could not be restored stay in the
// journal. The process may be killed at any time and Restore called again.
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
		// When an earlier entry is done, the old state of a later one may become known
		// better: see without.
		if len(left) == 0 || len(j.entries) == before {
			report.Items = append(report.Items, left...)
			return report
		}
	}
}

// pass tries to restore each entry once.
func (j *Journal) pass(ctx context.Context) []Item {
	var items []Item
	var stuck []Entry // entries whose knobs are not restored
	for at := range slices.Backward(j.entries) {
		e := j.entries[at] // read it again, because a later entry may have changed it: see handOver
		r := restoration{journal: j, at: at, entry: e}
		var item Item
		if e.settled != nil {
			item = r.drop(*e.settled)
		} else if first := blocking(e, stuck); first != "" {
			item = r.item(Failed, "%s was not restored: %s has to be restored first, which failed", e.Knob, first)
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

// blocking names a setting of the same disk that had to be restored before e but
// was not. Writing e could change it, and its old state would be lost.
func blocking(e Entry, stuck []Entry) string {
	for _, s := range stuck {
		if e.Knob.Device != nil && s.Knob.Device != nil && *e.Knob.Device == *s.Knob.Device {
			return s.Knob.String()
		}
	}
	return ""
}

// Forget removes all entries from the journal without changing the knobs, after a
// person has looked at what Restore left.
func (j *Journal) Forget() (Report, error) {
	var report Report
	for _, e := range slices.Backward(j.entries) {
		report.Items = append(report.Items, e.item(Forgotten, "%s keeps its value; before %s changed it, it was %s", e.Knob, e.Owner, e.Old))
	}
	return report, j.save(nil)
}

func (e Entry) item(o Outcome, format string, args ...any) Item {
	return Item{Knob: e.Knob, Owner: e.Owner, Outcome: o, Old: e.Old, New: e.New, Message: fmt.Sprintf(format, args...)}
}

// restoration restores one entry.
type restoration struct {
	journal *Journal
	at      int
	entry   Entry
	// knob is the entry's knob under its current name.
	knob     tunable.Knob
	present  tunable.State
	fresh    bool // settings that do not last may have been lost since
	notes    []string
	touched  bool
	settled  bool // the knob is restored, even if the journal could not be written
	location tunable.Location
}

func (r *restoration) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// item returns an outcome whose message includes the notes.
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
		return r.item(Failed, "cannot restore %s to %s: %v", e.Knob, e.Old, err)
	}
	switch r.location.Presence {
	case tunable.Gone:
		return r.drop(r.item(Gone, "%s: %s", e.Knob, r.location.Note))
	case tunable.Away:
		return r.item(Failed, "cannot restore %s to %s: %s", e.Knob, e.Old, r.location.Note)
	case tunable.Here, tunable.Fresh:
	}
	if r.location.Note != "" {
		r.note("%s", r.location.Note)
	}
	r.knob = r.location.Knob
	r.fresh = !sameBoot || r.location.Presence == tunable.Fresh
	if e.Stage != Applied {
		// A process that has just been killed may have written it.
		err = j.host.Settle(ctx, r.knob)
	}
	if err == nil {
		r.present, err = j.host.Read(ctx, r.knob)
	}
	if err != nil {
		return r.item(Failed, "cannot restore %s to %s: %v", e.Knob, e.Old, err)
	}
	switch {
	case r.right() && e.Stage == Planned && !e.Knob.Late() && !r.reset(ctx):
		// We wrote nothing, so we did not change its companions either.
		return r.drop(r.item(Unchanged, "%s was already %s", e.Knob, e.Old))
	case r.fresh && r.knob.Survives() == tunable.Never:
		// This applies even if it has our value: the kernel has forgotten what we wrote,
		// and our old value may be the effect of an earlier change that the boot has
		// undone.
		return r.drop(r.item(Unchanged, "%s is %s: a reboot, or attaching the disk again, has undone the change; before the change it was %s", e.Knob, r.present, e.Old))
	case r.right() || r.ours():
		return r.putBack(ctx)
	default:
		return r.foreign()
	}
}

// reset reports whether a setting that the knob resets is not as it was: then the knob was written, and
// somebody has set it back.
func (r *restoration) reset(ctx context.Context) bool {
	return slices.ContainsFunc(r.entry.Companions, func(c Companion) bool {
		k := c.knob(r.knob)
		present, err := r.journal.host.Read(ctx, k)
		return err == nil && r.knob.Resets(k) && !k.Same(present, c.Old)
	})
}

// late reports whether our write may yet take effect: it was given up or killed before it had any.
func (r *restoration) late() bool {
	e := r.entry
	return e.Knob.Late() && r.right() && (e.Seen == nil || e.Knob.Same(*e.Seen, e.Old))
}

func (r *restoration) right() bool {
	return r.knob.Same(r.present, r.entry.Old) && !r.knob.Residue(r.present, r.entry.Old, r.entry.New)
}

// ours reports whether the current state is the effect of our own writes, complete
// or not.
func (r *restoration) ours() bool {
	e := r.entry
	return r.knob.Same(r.present, e.New) || r.knob.Residue(r.present, e.Old, e.New) || e.Seen != nil && r.knob.Same(r.present, *e.Seen) ||
		r.knob.Drifted(r.present, e.New) ||
		e.Stage == Restoring && (r.present.Value == e.Old.Value || r.knob.Drifted(r.present, e.Old))
}

// foreign marks the entry and leaves the knob as somebody else set it.
func (r *restoration) foreign() Item {
	e := r.entry
	item := r.item(Foreign, "%s is %s: somebody else changed it after the benchmark set it to %s, so it was left as it is; before the benchmark it was %s", e.Knob, r.present, e.New, e.Old)
	if e.Foreign == nil || *e.Foreign != r.present {
		e.Foreign = &r.present
		if err := r.journal.save(r.journal.edit(r.at, e)); err != nil {
			item.Message += "; cannot write the journal: " + err.Error()
		}
	}
	return item
}

// putBack restores the knob and its companions.
func (r *restoration) putBack(ctx context.Context) Item {
	j := r.journal
	r.aim(ctx)
	late := r.late()
	var err error
	if late || r.needsWrite(ctx) {
		j.hook(BeforeRestore)
		r.mark()
		j.hook(AfterMark)
		if late || !r.right() { // written after ours, which may be waiting for its pool
			r.touched = true
			if err = j.host.Write(ctx, r.knob, r.entry.Old); err != nil {
				if item, done := r.handOver(err); done {
					return item
				}
				return r.item(Failed, "%s is %s, and restoring it to %s failed: %v", r.entry.Knob, r.present, r.entry.Old, err)
			}
			j.hook(AfterRestore)
			err = j.host.Settle(ctx, r.knob)
		}
		if err == nil {
			err = r.restoreCompanions(ctx)
		}
		if err != nil {
			return r.item(Failed, "%s was restored, but not the other settings that this changes: %v", r.entry.Knob, err)
		}
		j.hook(AfterCompanions)
	}
	seen, err := j.host.Read(ctx, r.knob)
	switch {
	case err != nil:
		return r.item(Failed, "%s was restored to %s, but cannot be read back: %v", r.entry.Knob, r.entry.Old, err)
	case !r.knob.Same(seen, r.entry.Old):
		r.remember(seen)
		return r.item(Failed, "%s was restored to %s, but reads back as %s", r.entry.Knob, r.entry.Old, seen)
	case r.touched:
		return r.drop(r.item(Restored, "%s is %s again; the benchmark had set it to %s", r.entry.Knob, seen, r.entry.New))
	default:
		return r.drop(r.item(Unchanged, "%s was already %s", r.entry.Knob, r.entry.Old))
	}
}

// remember records what the kernel made of the old value, so that the next attempt does not take it for
// somebody else's.
func (r *restoration) remember(seen tunable.State) {
	if r.present = seen; !r.touched || r.ours() {
		return
	}
	e := r.entry
	e.Seen = &seen
	if err := r.journal.save(r.journal.edit(r.at, e)); err != nil {
		r.note("cannot write the journal: %v", err)
	}
}

// handOver leaves a knob whose old value the kernel refuses to the earlier entry that
// caused that value. Example: our scheduler set nr_requests to 256, somebody else has
// switched that scheduler off since, and without it the kernel does not accept 256. The
// value to restore in the end is the one that the earlier entry recorded, and it restores
// its companions.
func (r *restoration) handOver(refusal error) (Item, bool) {
	if !errors.Is(refusal, unix.EINVAL) {
		return Item{}, false // the kernel may accept it the next time
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
		e.Companions[i].Seen = &present // to recognise it as the effect of our change
		item := r.item(Unchanged, "%s will be restored with %s, which caused the value %s that the kernel now refuses", r.entry.Knob, e.Knob, r.entry.Old)
		if err := r.journal.save(slices.Delete(entries, r.at, r.at+1)); err != nil {
			return r.item(Failed, "cannot restore %s to %s, nor write the journal: %v", r.entry.Knob, r.entry.Old, err), true
		}
		r.settled = true
		return item, true
	}
	return Item{}, false
}

// mark records that the knobs are being restored, and to which state. If that
// fails, for example because the benchmark has filled the disk, they are restored
// anyway: the journal still has the old values, and leaving the node changed is
// worse than the small risk of a crash in the next milliseconds.
func (r *restoration) mark() {
	e := r.entry
	e.Stage, e.Foreign = Restoring, nil
	if err := r.journal.save(r.journal.edit(r.at, e)); err != nil {
		r.note("cannot write the journal before restoring: %v", err)
		return
	}
	r.entry = e
}

// drop removes the entry from the journal.
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
		item.Message += "; but it is still in the journal, which cannot be written: " + err.Error()
		return item
	}
	j.hook(AfterDrop)
	return item
}

// without returns a later entry as it would be without the earlier one. The old
// state that it recorded may be the effect of earlier, which has been restored.
// This matters for an entry that stays because somebody else changed its knob.
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

package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// Change is the result of an assignment.
type Change struct {
	Knob tunable.Knob `json:"knob"`
	// Value that was requested.
	Value  string        `json:"value"`
	Before tunable.State `json:"before"`
	After  tunable.State `json:"after"`
	// Changed is false if the knob already had the value: then nothing was written, and
	// nothing will be restored.
	Changed bool `json:"changed"`
}

// Apply sets every knob to its value, in the order of the assignments. If one fails, it
// restores those that it changed and returns a *trial.Failure. Old values that could not be
// restored stay in the journal.
func (j *Journal) Apply(ctx context.Context, owner Owner, assignments []tunable.Assignment) ([]Change, error) {
	if len(j.entries) > 0 {
		return nil, pendingFailure(j.dir, j.entries)
	}
	if err := tunable.CheckAssignments(assignments); err != nil {
		return nil, err
	}
	if err := j.outlasts(assignments); err != nil {
		return nil, err
	}
	var changes []Change
	for _, a := range assignments {
		err := ctx.Err()
		var c Change
		if err == nil {
			c, err = j.applyOne(ctx, owner, a)
		}
		if err != nil {
			return nil, j.undo(ctx, err)
		}
		changes = append(changes, c)
	}
	// A later write can undo an earlier one.
	for i, a := range assignments {
		seen, err := j.host.Read(ctx, a.Knob)
		if err == nil && !a.Knob.Same(seen, changes[i].After) {
			err = notTaken(a, changes[i].After, seen, "after the other tunables were set")
		}
		if err != nil {
			return nil, j.undo(ctx, failed(a, err))
		}
	}
	return changes, nil
}

// outlasts refuses a setting that can survive a reboot if the journal does not: nobody would know
// the old value.
func (j *Journal) outlasts(assignments []tunable.Assignment) error {
	for _, a := range assignments {
		if a.Knob.Survives() == tunable.Never {
			continue
		}
		switch system, err := j.store.forgets(); {
		case err != nil:
			return unusable(j.dir, err)
		case system != "":
			return &trial.Failure{
				Class: reason.TunableNotApplied, Field: a.Field,
				Message: fmt.Sprintf("%s can keep its value over a reboot, and the journal with the old one would be lost: %s is in memory (%s)", a.Knob, j.dir, system),
				Remedy:  "keep " + j.dir + " on a disk of the node, or leave this tunable out",
			}
		}
	}
	return nil
}

func (j *Journal) applyOne(ctx context.Context, owner Owner, a tunable.Assignment) (Change, error) {
	old, wanted, err := j.host.Prepare(ctx, a.Knob, a.Value)
	if err != nil {
		return Change{}, failed(a, err)
	}
	c := Change{Knob: a.Knob, Value: a.Value, Before: old, After: old}
	if a.Knob.Same(old, wanted) {
		return c, nil
	}
	e := Entry{Knob: a.Knob, Owner: owner, Stage: Planned, Old: old, New: wanted, BootID: j.bootID, Time: j.now().UTC()}
	for _, k := range j.host.Companions(a.Knob) {
		s, err := j.host.Read(ctx, k)
		if absent(err) {
			continue
		}
		if err == nil {
			e.Companions = append(e.Companions, Companion{Tunable: k.Tunable, Old: s})
		}
		// A setting that cannot be read now (wbt_lat_usec where writeback is not
		// throttled) has no value to restore.
	}
	j.hook(BeforeJournal)
	if err := j.save(append(j.Entries(), e)); err != nil {
		return Change{}, err
	}
	j.hook(AfterJournal)
	written := j.host.Write(ctx, a.Knob, wanted)
	j.hook(AfterWrite)
	if err := j.host.Settle(ctx, a.Knob); err != nil {
		// What is seen before it has settled would make what follows look like somebody else's.
		return Change{}, failed(a, errors.Join(written, err))
	}
	// Observe it even after an error: the kernel may have changed something
	// anyway.
	seen, err := j.observe(ctx, e)
	if err := errors.Join(written, err); err != nil {
		return Change{}, failed(a, err)
	}
	j.hook(AfterApply)
	if !a.Knob.Same(seen, wanted) {
		return Change{}, notTaken(a, wanted, seen, "when read back")
	}
	c.After, c.Changed = seen, true
	return c, nil
}

// observe reads the last entry's knobs and records what the kernel made of the
// write.
func (j *Journal) observe(ctx context.Context, e Entry) (tunable.State, error) {
	seen, err := j.host.Read(ctx, e.Knob)
	if err != nil {
		return tunable.State{}, err
	}
	e.Stage, e.Seen = Applied, &seen
	e.Companions = slices.Clone(e.Companions)
	for i := range e.Companions {
		if s, err := j.host.Read(ctx, e.Companions[i].knob(e.Knob)); err == nil {
			e.Companions[i].Seen = &s
		}
	}
	return seen, j.save(j.edit(len(j.entries)-1, e))
}

// undo restores what was applied before the failure.
func (j *Journal) undo(ctx context.Context, cause error) error {
	// A cancelled context is a reason to restore, not to stop restoring.
	report := j.Restore(context.WithoutCancel(ctx))
	f := *asFailure(cause)
	if !report.Complete() {
		f.Message += "; some of the changed settings could not be restored: " + report.First()
	}
	return &f
}

func asFailure(err error) *trial.Failure {
	if f, ok := errors.AsType[*trial.Failure](err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &trial.Failure{Class: reason.TunableNotApplied, Message: "stopped while setting tunables: " + err.Error(), Err: err}
	}
	return trial.AsFailure(err)
}

func failed(a tunable.Assignment, err error) *trial.Failure {
	if f, ok := errors.AsType[*trial.Failure](err); ok {
		return f
	}
	f := &trial.Failure{
		Class: reason.TunableNotApplied, Field: a.Field,
		Message: fmt.Sprintf("cannot set %s to %s: %v", a.Knob, tunable.State{Value: a.Value}, err),
		Remedy:  "list the accepted values with: storagebench tunables " + a.Knob.Tunable + " --target PATH", Err: err,
	}
	if kept, ok := errors.AsType[*tunable.KeepError](err); ok {
		f.Remedy = kept.Remedy
	}
	return f
}

func notTaken(a tunable.Assignment, wanted, seen tunable.State, when string) *trial.Failure {
	return &trial.Failure{
		Class: reason.TunableNotApplied, Field: a.Field + ".value",
		Message: fmt.Sprintf("%s was set to %s, but was %s %s: the kernel did not accept the value", a.Knob, wanted, seen, when),
		Remedy:  "choose a value that the kernel neither rounds nor ignores",
	}
}

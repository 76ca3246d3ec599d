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

// Change is what came of an assignment.
type Change struct {
	Knob tunable.Knob `json:"knob"`
	// Value that was asked for.
	Value  string        `json:"value"`
	Before tunable.State `json:"before"`
	After  tunable.State `json:"after"`
	// Changed is false if the knob had the value already: then nothing was written, and
	// nothing will be put back.
	Changed bool `json:"changed"`
}

// Apply brings every knob to its value, in the order of the assignments, or else puts back what it has changed and
// fails. Its error is a *trial.Failure. If the old values could not all be put back,
// they are in the journal still.
func (j *Journal) Apply(ctx context.Context, owner Owner, assignments []tunable.Assignment) ([]Change, error) {
	if len(j.entries) > 0 {
		return nil, pendingFailure(j.dir, j.entries)
	}
	if err := tunable.CheckAssignments(assignments); err != nil {
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
	// A setting can be undone by one that was written after it.
	for i, a := range assignments {
		seen, err := j.host.Read(ctx, a.Knob)
		if err == nil && !a.Knob.Same(seen, changes[i].After) {
			err = notTaken(a, changes[i].After, seen, "once the other tunables had been set")
		}
		if err != nil {
			return nil, j.undo(ctx, failed(a, err))
		}
	}
	return changes, nil
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
		// throttled) has no value that could be put back.
	}
	j.hook(BeforeJournal)
	if err := j.save(append(j.Entries(), e)); err != nil {
		return Change{}, err
	}
	j.hook(AfterJournal)
	written := j.host.Write(ctx, a.Knob, wanted)
	j.hook(AfterWrite)
	// Also if it was refused: the kernel may have done something all the same.
	seen, err := j.observe(ctx, e)
	if err := errors.Join(written, err); err != nil {
		return Change{}, failed(a, err)
	}
	j.hook(AfterApply)
	if !a.Knob.Same(seen, wanted) {
		return Change{}, notTaken(a, wanted, seen, "when it was read back")
	}
	c.After, c.Changed = seen, true
	return c, nil
}

// observe records what the kernel has made of the last entry.
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

// undo puts back what was applied before something failed.
func (j *Journal) undo(ctx context.Context, cause error) error {
	// The reason to stop must not stop this.
	report := j.Restore(context.WithoutCancel(ctx))
	f := *asFailure(cause)
	if !report.Complete() {
		f.Message += "; and what had been changed could not all be put back: " + report.First()
	}
	return &f
}

func asFailure(err error) *trial.Failure {
	if f, ok := errors.AsType[*trial.Failure](err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &trial.Failure{Class: reason.TunableNotApplied, Message: "stopped while tunables were being set: " + err.Error(), Err: err}
	}
	return trial.AsFailure(err)
}

func failed(a tunable.Assignment, err error) *trial.Failure {
	if f, ok := errors.AsType[*trial.Failure](err); ok {
		return f
	}
	return &trial.Failure{
		Class: reason.TunableNotApplied, Field: a.Field,
		Message: fmt.Sprintf("%s could not be set to %s: %v", a.Knob, tunable.State{Value: a.Value}, err),
		Remedy:  "see what the target takes with: storagebench tunables " + a.Knob.Tunable + " --target PATH", Err: err,
	}
}

func notTaken(a tunable.Assignment, wanted, seen tunable.State, when string) *trial.Failure {
	return &trial.Failure{
		Class: reason.TunableNotApplied, Field: a.Field + ".value",
		Message: fmt.Sprintf("%s was to be %s, and was %s %s: the value was not taken", a.Knob, wanted, seen, when),
		Remedy:  "ask for a value that the kernel takes as it is",
	}
}

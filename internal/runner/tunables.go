package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// settle is how long a trial waits after its settings were made: a queue that was
// drained and frozen for a new scheduler fills again.
const settle = 500 * time.Millisecond

// tuning makes the settings of variants and puts them back. A plan without tunables
// has none.
type tuning struct {
	journal *journal.Journal
	owner   journal.Owner
	// place is what is under the target.
	place tunable.Place
	// assignments by variant.
	assignments map[string][]tunable.Assignment
}

// openTuning takes the node's journal, restores what a worker before has left in it,
// and finds out what the variants' settings come to on the target. Nothing is changed
// before all of them are known to be permitted.
func (w *worker) openTuning(ctx context.Context) (t *tuning, err error) {
	if !w.Plan.SetsTunables() {
		return nil, nil
	}
	if w.Journal == "" {
		return nil, &trial.Failure{Class: reason.InternalError, Field: "spec.variants", Message: "the worker was given no journal, and without one it changes no setting"}
	}
	host := w.Host
	host.System = w.System
	j, err := journal.Open(journal.Options{Dir: w.Journal, Host: host, Hook: w.Hook})
	if err != nil {
		return nil, err
	}
	t = &tuning{
		journal:     j,
		owner:       w.owner(),
		assignments: map[string][]tunable.Assignment{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	if err := t.restore(ctx, nil); err != nil {
		return nil, err
	}
	if t.place, err = host.Place(ctx, w.TargetPath); err != nil {
		return nil, err
	}
	for _, v := range w.Plan.Variants {
		if t.assignments[v.Name], err = assign(ctx, host, t.place, v); err != nil {
			return nil, inVariant(v.Name, err)
		}
	}
	return t, nil
}

// inVariant is a failure whose field, if it has one, is that of the variant.
func inVariant(name string, err error) *trial.Failure {
	f := trial.AsFailure(err)
	f.Field = strings.TrimSuffix(fmt.Sprintf("spec.variants[%s].%s", name, f.Field), ".")
	return f
}

// assign is what a variant's settings come to, each on what it may be set on.
func assign(ctx context.Context, host tunable.Host, place tunable.Place, v trial.Variant) ([]tunable.Assignment, error) {
	settings := make([]tunable.Setting, 0, len(v.Tunables))
	for _, s := range v.Tunables {
		settings = append(settings, tunable.Setting{Name: s.Name, Value: s.Value})
	}
	assignments, err := host.Plan(ctx, settings, place)
	if err != nil {
		return nil, err
	}
	for _, a := range assignments {
		i := slices.IndexFunc(v.Tunables, func(s trial.Tunable) bool { return s.Name == a.Knob.Tunable })
		if i < 0 || !a.Knob.PermittedBy(v.Tunables[i]) {
			return nil, &trial.Failure{
				Class: reason.TunableNotPermitted, Field: a.Field,
				Message: "no TunablePolicy permits changing " + a.Knob.String(),
				Remedy:  "ask your cluster administrator to name the device or dataset in a TunablePolicy",
			}
		}
	}
	return assignments, nil
}

// describe adds to the target's environment what only the node's own programs tell: the
// disks of a ZFS pool. Without tunables a worker has not got the privileges to ask them.
func (t *tuning) describe(e *result.TargetEnvironment) {
	if t != nil && len(e.Devices) == 0 && len(t.place.Leaves) > 0 {
		e.Devices, e.DeviceNote = t.place.Leaves, t.place.DeviceNote
	}
}

// around makes the settings of a trial's variant, calls run, and puts them back. What
// it did goes into the document, also if run fails.
func (w *worker) around(ctx context.Context, t *tuning, d *result.Trial, dir *os.File, run func() error) (err error) {
	if t == nil || len(t.assignments[d.Trial.Variant]) == 0 {
		return run()
	}
	changes, err := t.journal.Apply(ctx, t.owner, t.assignments[d.Trial.Variant])
	if err != nil {
		f := inVariant(d.Trial.Variant, err)
		if len(t.journal.Entries()) > 0 {
			f.Class = reason.TunablesNotRestored
		}
		return f
	}
	for _, c := range changes {
		d.Tunables = append(d.Tunables, result.Tunable{
			Name: c.Knob.Tunable, On: on(c.Knob), Asked: c.Value, Before: c.Before.Value, During: c.After.Value,
		})
	}
	defer func() {
		// What stops the trial must not stop this.
		if restoreErr := t.restore(context.WithoutCancel(ctx), d); restoreErr != nil {
			err = errors.Join(restoreErr, err)
		}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.Clock.After(settle):
	}
	err = run()
	if dir != nil && err == nil {
		err = drain(dir)
	}
	return err
}

// drain brings to the disk what a trial has left in memory, before the next trial is
// measured with other settings.
func drain(dir *os.File) error {
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("runner: syncfs %s: %w", dir.Name(), err)
	}
	return nil
}

// restore puts back what the journal holds and records it in the document, if any.
func (t *tuning) restore(ctx context.Context, d *result.Trial) error {
	report := t.journal.Restore(ctx)
	if d != nil {
		for i := range d.Tunables {
			at := slices.IndexFunc(report.Items, func(item journal.Item) bool {
				return item.Knob.Tunable == d.Tunables[i].Name && on(item.Knob) == d.Tunables[i].On
			})
			d.Tunables[i].Restored = at < 0 || report.Items[at].Outcome != journal.Foreign && report.Items[at].Outcome != journal.Failed
			if at >= 0 {
				d.Tunables[i].Restoring = report.Items[at].Message
			}
		}
	}
	if report.Complete() {
		return nil
	}
	return &trial.Failure{
		Class: reason.TunablesNotRestored, Field: "spec.variants", Message: report.First(),
		Remedy: "look at the node, and run there: storagebench restore (with --forget if it is to stay as it is)",
	}
}

// on is the device or dataset of a knob, or empty for the node.
func on(k tunable.Knob) string {
	switch {
	case k.Device != nil:
		return k.Device.Name
	case k.Dataset != nil:
		return k.Dataset.Name
	default:
		return ""
	}
}

// close lets the journal go, and says whether there is nothing left in it.
func (t *tuning) close() (restored bool, err error) {
	if t == nil {
		return true, nil
	}
	return len(t.journal.Entries()) == 0, t.journal.Close()
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// settle is how long a trial waits after its settings have changed, so that a queue that
// was frozen for a new scheduler fills again.
const settle = 500 * time.Millisecond

// tuning sets the tunables of variants and restores them. It is nil for a plan without
// tunables.
type tuning struct {
	journal *journal.Journal
	owner   journal.Owner
	// place is what is under the target.
	place tunable.Place
	// assignments of each variant.
	assignments map[string][]tunable.Assignment
}

// openTuning opens the node's journal, restores what an earlier worker left in it, and
// resolves the variants' tunables for the target. It checks that all of them are permitted
// before anything is changed.
func (w *worker) openTuning(ctx context.Context) (t *tuning, err error) {
	if !w.Plan.SetsTunables() {
		return nil, nil
	}
	if w.Journal == "" {
		return nil, &trial.Failure{Class: reason.InternalError, Field: "spec.variants", Message: "the worker has no journal, and without one it changes no setting"}
	}
	host := w.Host
	host.System = w.System
	// Layers that are read around a trial have the disks of a pool, as those of the target have.
	w.System.Pool = func(pool string) (string, error) { return host.PoolStatus(ctx, pool) }
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

// inVariant returns err as a failure whose field is below the variant's.
func inVariant(name string, err error) *trial.Failure {
	f := trial.AsFailure(err)
	f.Field = strings.TrimSuffix(fmt.Sprintf("spec.variants[%s].%s", name, f.Field), ".")
	return f
}

// assign resolves a variant's tunables to the devices, datasets and parameters that it sets,
// and fails if one of them is not permitted.
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

// describe adds the disks of a ZFS pool to the target's environment. Only the node's own
// programs know them, and only a worker with tunables has the privileges to run those.
func (t *tuning) describe(e *result.TargetEnvironment) {
	if t == nil {
		return
	}
	if len(e.Devices) == 0 && len(t.place.Leaves) > 0 {
		e.Devices, e.DeviceNote = t.place.Leaves, t.place.DeviceNote
	}
	if len(t.place.Layers) > len(e.Layers) {
		e.Layers = result.FitLayers(t.place.Layers)
	}
}

// withTunables sets the tunables of a trial's variant, calls run, and restores them. It
// records in the document what it did, even if run fails.
func (w *worker) withTunables(ctx context.Context, t *tuning, d *result.Trial, run func() error) (err error) {
	if t == nil {
		return run()
	}
	if len(t.assignments[d.Trial.Variant]) == 0 {
		if err := w.wait(ctx); err != nil {
			return err
		}
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
		// The settings are restored even if the trial was stopped.
		if restoreErr := t.restore(context.WithoutCancel(ctx), d); restoreErr != nil {
			err = errors.Join(restoreErr, err)
		}
	}()
	if err := w.wait(ctx); err != nil {
		return err
	}
	return run()
}

// wait waits until the storage has settled after a change, or until ctx ends. A control waits
// as well, so that trials differ in their settings only.
func (w *worker) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.Clock.After(settle):
		return nil
	}
}

// restore restores the settings in the journal. If d is not nil, it records there what became
// of each.
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
		Remedy: "on the node, run storagebench restore to restore these settings, or storagebench restore --forget to keep them as they are",
	}
}

// on returns the device or dataset of a knob, or "" for a setting of the whole node.
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

// close releases the journal and reports whether it is empty, which means that every setting
// is restored.
func (t *tuning) close() (restored bool, err error) {
	if t == nil {
		return true, nil
	}
	return len(t.journal.Entries()) == 0, t.journal.Close()
}

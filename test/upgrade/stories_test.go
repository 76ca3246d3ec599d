//go:build upgrade

package upgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/cluster"
)

// story is one benchmark on its way through the upgrade.
type story struct {
	name string
	// begin makes the benchmark; bring waits until it is where the upgrade is to find it.
	begin, bring func(*lab)
	// strand, if any, is done to it when the old operator has stopped.
	strand func(*lab)
	// end checks what became of it.
	end func(*lab)
}

func as(*v1alpha1.StorageBenchmarkSpec) {}

// adopted waits until nothing of what release 0.1 wrote is left in a status.
func (l *lab) adopted(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	l.eventually("the new release has taken over "+b.Name, func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if run := b.Status.Run; run == nil || len(run.Workers) > 0 || len(run.Unrestored) > 0 || run.Generation == 0 {
			return fmt.Errorf("%+v", run)
		}
		return nil
	})
}

// over are stories of runs that have ended, with a reason: they stay as they are.
func over(name, why string, node int, change func(*lab) func(*v1alpha1.StorageBenchmarkSpec)) story {
	var b, before *v1alpha1.StorageBenchmark
	var objects map[string][]byte
	return story{
		name:  name,
		begin: func(l *lab) { b = l.benchmark(name, l.nodes[node], change(l)) },
		bring: func(l *lab) {
			l.ended(b, why)
			before, objects = b.DeepCopy(), l.stored(b)
		},
		end: func(l *lab) {
			l.adopted(b)
			l.ended(b, why)
			now, was := b.Status, before.Status
			if now.Run.ID != was.Run.ID || !now.Run.FinishedAt.Equal(was.Run.FinishedAt) || !now.Run.StartedAt.Equal(was.Run.StartedAt) {
				l.t.Errorf("run again: the run was %+v and is %+v", was.Run, now.Run)
			}
			for what, diff := range map[string]string{
				"rows":        cmp.Diff(was.Summary, now.Summary),
				"comparisons": cmp.Diff(was.Comparisons, now.Comparisons),
				"headline":    cmp.Diff(was.Headline, now.Headline),
				"progress":    cmp.Diff(was.Run.Progress, now.Run.Progress),
				"workers":     cmp.Diff(int32(len(was.Run.Workers)), now.Run.WorkersTotal),
			} {
				if diff != "" {
					l.t.Errorf("lost: %s: -before +now:\n%s", what, diff)
				}
			}
			for _, c := range was.Conditions {
				is := meta.FindStatusCondition(now.Conditions, c.Type)
				if is == nil || is.Status != c.Status || is.Reason != c.Reason || !is.LastTransitionTime.Equal(&c.LastTransitionTime) {
					l.t.Errorf("the condition %s was %+v and is %+v", c.Type, c, is)
				}
			}
			after := l.stored(b)
			l.unchanged(objects, after)
			if len(after) != len(objects) {
				l.t.Errorf("%d objects were stored, and %d are", len(objects), len(after))
			}
		},
	}
}

// running is a benchmark that measures with changed settings while the release changes, and
// queued one that waits behind it.
func running(node int) (running, queued story) {
	var b, next *v1alpha1.StorageBenchmark
	var d disk
	var before map[string][]byte
	var queuedAt metav1.MicroTime
	running = story{
		name: "running with changed settings",
		begin: func(l *lab) {
			b, d = l.onDisk("running", l.nodes[node], 30, "3s")
		},
		bring: func(l *lab) { l.measuring(b, workerOn("disk", l.nodes[node]), 2); l.changed(d) },
		strand: func(l *lab) {
			before = trials(b, workerOn("disk", l.nodes[node]), l.stored(b))
			if len(before) == 60 {
				l.t.Fatal("it has ended before the upgrade; it must take longer")
			}
		},
		end: func(l *lab) {
			worker := workerOn("disk", l.nodes[node])
			l.ended(b, reason.Finished)
			l.carriedOn(b, worker, before, 60)
			l.tookOnePod(b, worker)
			if b.Status.Run.Progress != "60/60" || b.Status.Run.WorkersDone != 1 {
				l.t.Errorf("%+v", b.Status.Run)
			}
			if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored); c == nil || c.Reason != reason.Restored {
				l.t.Errorf("TunablesRestored is %+v", c)
			}
			l.asBefore(d)
		},
	}
	queued = story{
		name:  "queued",
		begin: func(l *lab) { next = l.benchmark("queued", l.nodes[node], as) },
		bring: func(l *lab) {
			l.await(next, reason.Queued)
			queuedAt = next.Status.Run.QueuedAt
		},
		end: func(l *lab) {
			l.ended(next, reason.Finished)
			run := next.Status.Run
			if !run.QueuedAt.Equal(&queuedAt) || run.Progress != "3/3" || run.PlanDigest == "" {
				l.t.Errorf("queued at %s: %+v", queuedAt, run)
			}
			l.must(api.Get(l.ctx, client.ObjectKeyFromObject(b), b))
			if run.StartedAt.Before(b.Status.Run.FinishedAt) {
				l.t.Errorf("it started at %s, and the one before it ended at %s", run.StartedAt, b.Status.Run.FinishedAt)
			}
		},
	}
	return running, queued
}

// secondWorker is a run of which one worker has ended and the second one measures.
func secondWorker(node int) story {
	var b *v1alpha1.StorageBenchmark
	var before map[string][]byte
	return story{
		name: "in its second worker",
		begin: func(l *lab) {
			b = l.benchmark("second-worker", l.nodes[node], func(s *v1alpha1.StorageBenchmarkSpec) {
				s.Targets = []v1alpha1.Target{volume("one"), volume("two")}
				s.Workloads[0].Fio.Parameters["runtime"] = v1alpha1.Text("5s")
				s.Trials.Min = 20
			})
		},
		bring: func(l *lab) { l.measuring(b, workerOn("two", l.nodes[node]), 1) },
		strand: func(l *lab) {
			before = l.stored(b)
			if len(trials(b, workerOn("two", l.nodes[node]), before)) == 20 {
				l.t.Fatal("it has ended before the upgrade; it must take longer")
			}
		},
		end: func(l *lab) {
			l.ended(b, reason.Finished)
			for _, target := range []string{"one", "two"} {
				worker := workerOn(target, l.nodes[node])
				l.carriedOn(b, worker, trials(b, worker, before), 20)
				l.tookOnePod(b, worker)
			}
			if len(b.Status.Summary) != 2 || b.Status.Run.Progress != "40/40" || b.Status.Run.WorkersDone != 2 {
				l.t.Errorf("%d rows, and %+v", len(b.Status.Summary), b.Status.Run)
			}
		},
	}
}

// suspended is a benchmark that was stopped in mid-run, on a device: it stays so until
// somebody resumes it, and then carries on after the last stored trial.
func suspended(node int) story {
	var b *v1alpha1.StorageBenchmark
	var d disk
	var before map[string][]byte
	return story{
		name: "suspended",
		begin: func(l *lab) {
			b, d = l.onDisk("suspended", l.nodes[node], 8, "1s")
		},
		bring: func(l *lab) {
			l.measuring(b, workerOn("disk", l.nodes[node]), 2)
			l.change(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true })
			l.await(b, reason.Suspended)
			l.asBefore(d)
			before = trials(b, workerOn("disk", l.nodes[node]), l.stored(b))
		},
		end: func(l *lab) {
			l.adopted(b)
			l.await(b, reason.Suspended)
			if jobs := l.jobs(b); len(jobs) > 0 {
				l.t.Errorf("it is suspended and has %d Jobs", len(jobs))
			}
			l.unchanged(before, l.stored(b))
			l.change(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = false })
			// Only the store, which tenants write to, says that the data on the device is the
			// run's: docs/how-to/upgrade.md.
			l.ended(b, reason.TargetHoldsData)
			l.carriedOn(b, workerOn("disk", l.nodes[node]), before, len(before))
			l.asBefore(d)
		},
	}
}

// changed is a benchmark that has ended, and whose spec was changed to one that cannot be
// run. It still waits for what it needs, and is then run.
func changed(node int) story {
	var b *v1alpha1.StorageBenchmark
	var first string
	return story{
		name:  "changed to what cannot be run",
		begin: func(l *lab) { b = l.benchmark("changed", l.nodes[node], as) },
		bring: func(l *lab) {
			l.ended(b, reason.Finished)
			first = b.Status.Run.ID
			l.change(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = "not-yet" })
			l.await(b, reason.StorageClassNotFound)
		},
		end: func(l *lab) {
			l.adopted(b)
			l.await(b, reason.StorageClassNotFound)
			l.change(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = "loop-xfs" })
			l.ended(b, reason.Finished)
			if b.Status.Run.ID == first {
				l.t.Errorf("the run is still %s", first)
			}
		},
	}
}

// killed is a benchmark whose worker is killed when no operator runs, with the settings
// changed, on a node where no Pod can start. The new operator puts them back by the old
// worker's journal. The run does not go on, on a device that holds data, and loses nothing.
func killed(node int) story {
	var b *v1alpha1.StorageBenchmark
	var d disk
	var before map[string][]byte
	return story{
		name: "killed with changed settings",
		begin: func(l *lab) {
			b, d = l.onDisk("killed", l.nodes[node], 5, "4s")
		},
		bring: func(l *lab) {
			l.measuring(b, workerOn("disk", l.nodes[node]), 1)
			l.killChanged(d, workerOn("disk", l.nodes[node]), l.nodes[node])
		},
		strand: func(l *lab) { before = trials(b, workerOn("disk", l.nodes[node]), l.stored(b)) },
		end: func(l *lab) {
			l.asBefore(d) // while the node is still closed
			l.close(l.nodes[node], false)
			l.ended(b, reason.TargetHoldsData) // as in suspended
			l.carriedOn(b, workerOn("disk", l.nodes[node]), before, len(before))
			l.asBefore(d)
		},
	}
}

// deleted is a benchmark that is deleted when no operator runs, with the settings changed.
func deleted(node int) story {
	var b *v1alpha1.StorageBenchmark
	var d disk
	return story{
		name: "deleted with changed settings",
		begin: func(l *lab) {
			b, d = l.onDisk("deleted", l.nodes[node], 5, "4s")
		},
		bring: func(l *lab) {
			l.killChanged(d, workerOn("disk", l.nodes[node]), l.nodes[node])
		},
		strand: func(l *lab) { l.must(api.Delete(l.ctx, b)) },
		end: func(l *lab) {
			l.gone(b)
			l.asBefore(d)
			l.recordGone(l.nodes[node])
			l.close(l.nodes[node], false)
		},
	}
}

// disturbed is a benchmark that is being deleted, whose settings the old operator cannot put
// back, as somebody else has changed one: its Job fails again and again. The new operator
// goes on with a Job of its own, and puts them back when it can.
func disturbed(node int) story {
	var b *v1alpha1.StorageBenchmark
	var d disk
	old := types.NamespacedName{Namespace: operatorNamespace}
	return story{
		name: "deleted with settings that somebody else has changed",
		begin: func(l *lab) {
			b, d = l.onDisk("disturbed", l.nodes[node], 5, "4s")
			sum := sha256.Sum256([]byte(l.nodes[node]))
			old.Name = "restore-" + hex.EncodeToString(sum[:6])
		},
		bring: func(l *lab) {
			l.killChanged(d, workerOn("disk", l.nodes[node]), l.nodes[node])
			l.must(os.WriteFile(d.file("nr_requests"), []byte("48"), 0))
			l.must(api.Delete(l.ctx, b))
			l.eventually("the old operator says that it cannot", func() error {
				c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored)
				if c != nil && c.Reason == reason.TunablesNotRestored {
					return nil
				}
				return errors(api.Get(l.ctx, client.ObjectKeyFromObject(b), b), cluster.Words(b))
			})
			l.eventually("its Job is there", func() error { return api.Get(l.ctx, old, &batchv1.Job{}) })
		},
		end: func(l *lab) {
			l.gone(b)
			l.eventually("the old operator's Job is gone", func() error {
				if err := api.Get(l.ctx, old, &batchv1.Job{}); !apierrors.IsNotFound(err) {
					return errors(err, "it is there")
				}
				return nil
			})
			record := &v1alpha1.NodeRestore{}
			l.eventually("the record of the node says why", func() error {
				err := api.Get(l.ctx, types.NamespacedName{Name: l.nodes[node]}, record)
				if err != nil || record.Status.Phase != v1alpha1.RestoreFailed || !strings.Contains(record.Status.Message, "nr_requests") {
					return errors(err, fmt.Sprintf("%+v", record.Status))
				}
				return nil
			})
			l.must(os.WriteFile(d.file("nr_requests"), []byte("64"), 0))
			l.asBefore(d)
			l.recordGone(l.nodes[node])
			l.close(l.nodes[node], false)
		},
	}
}

// errors is the error, or what else is to be said.
func errors(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s", otherwise)
}

func (l *lab) gone(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	l.eventually(b.Name+" is gone", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
			return errors(err, cluster.Words(b))
		}
		return nil
	})
}

func (l *lab) recordGone(node string) {
	l.t.Helper()
	l.eventually("the record of "+node+" is gone", func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: node}, record); !apierrors.IsNotFound(err) {
			return errors(err, fmt.Sprintf("%+v", record.Status))
		}
		return nil
	})
}

func (l *lab) jobs(b *v1alpha1.StorageBenchmark) []batchv1.Job {
	l.t.Helper()
	list := &batchv1.JobList{}
	l.must(api.List(l.ctx, list, client.InNamespace(l.namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.Name}))
	return list.Items
}

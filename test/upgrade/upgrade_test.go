//go:build upgrade

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/faults"
)

func TestAnUpgradeRunsNothingAgainAndLosesNothing(t *testing.T) {
	l := newLab(t)
	none := func(*lab) func(*v1alpha1.StorageBenchmarkSpec) { return as }
	// What ends, or waits for ever, comes to it first.
	first := []story{
		suspended(1),
		over("finished", reason.Finished, 0, none),
		over("finished-with-settings", reason.Finished, 1, func(l *lab) func(*v1alpha1.StorageBenchmarkSpec) { return tuned(l.disk().path, 2, "1s") }),
		over("failed", reason.TargetTooSmall, 0, func(*lab) func(*v1alpha1.StorageBenchmarkSpec) {
			return func(s *v1alpha1.StorageBenchmarkSpec) { s.Workloads[0].Fio.Parameters["size"] = v1alpha1.Text("2GiB") }
		}),
		changed(0),
	}
	for _, s := range first {
		s.begin(l)
	}
	for _, s := range first {
		s.bring(l)
	}
	// What runs must still run when the release changes; the first worker of this one takes as
	// long as the others need.
	second := secondWorker(0)
	second.begin(l)
	running, queued := running(1)
	after := []story{disturbed(4), killed(2), deleted(3), running, queued}
	for _, s := range after {
		s.begin(l)
		s.bring(l)
	}
	second.bring(l)
	stories := append(append(first, after...), second)

	l.newSchemas()
	l.stopOldOperator()
	for _, s := range stories {
		if s.strand != nil {
			s.strand(l)
		}
	}
	l.capture()
	l.run("hack/deploy")
	t.Run("after", func(t *testing.T) {
		for _, s := range stories {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				faults.Injected(t, "an upgrade with a benchmark that is "+s.name)
				s.end(l.of(t))
			})
		}
	})
	l.nothingLeft()
}

// newSchemas installs the CRDs of this release, as a user does who installs them apart from
// the chart. The old operator works with them until it is replaced.
func (l *lab) newSchemas() {
	l.t.Helper()
	l.run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", "charts/storagebench/files/crds")
	b := l.benchmark("between", l.nodes[0], func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = "no-such-store" })
	l.await(b, reason.ResultStoreNotFound)
	l.must(api.Delete(l.ctx, b))
	l.gone(b)
}

// stopOldOperator leaves what it works on to itself for a while.
func (l *lab) stopOldOperator() {
	l.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "storagebench-manager"}}
	l.must(api.Patch(l.ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))))
	l.eventually("the old operator has stopped", func() error {
		pods := &corev1.PodList{}
		if err := api.List(l.ctx, pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": "storagebench"}); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d Pods are left", len(pods.Items))
		}
		return nil
	})
}

// run runs a program in the root of the repository.
func (l *lab) run(program string, args ...string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.ctx, 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = "../.."
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	l.t.Logf("%s %v: %s", program, args, out)
}

// nothingLeft deletes every benchmark, and checks that nothing of them is left.
func (l *lab) nothingLeft() {
	l.t.Helper()
	l.must(api.DeleteAllOf(l.ctx, &v1alpha1.StorageBenchmark{}, client.InNamespace(l.namespace)))
	l.eventually("nothing is left", func() error {
		var left []string
		note := func(list client.ObjectList, ours func(client.Object) bool, options ...client.ListOption) error {
			if err := api.List(l.ctx, list, options...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(o runtime.Object) error {
				if object := o.(client.Object); ours(object) {
					left = append(left, fmt.Sprintf("%T %s/%s", o, object.GetNamespace(), object.GetName()))
				}
				return nil
			})
		}
		every := func(client.Object) bool { return true }
		here, operator := client.InNamespace(l.namespace), client.InNamespace(operatorNamespace)
		for _, err := range []error{
			note(&v1alpha1.StorageBenchmarkList{}, every, here),
			note(&batchv1.JobList{}, every, here),
			note(&corev1.PodList{}, every, here),
			note(&corev1.SecretList{}, every, here),
			note(&corev1.PersistentVolumeClaimList{}, every, here),
			note(&corev1.ConfigMapList{}, func(o client.Object) bool { return o.GetName() != "kube-root-ca.crt" }, here),
			note(&corev1.PersistentVolumeList{}, func(o client.Object) bool {
				ref := o.(*corev1.PersistentVolume).Spec.ClaimRef
				return ref != nil && ref.Namespace == l.namespace
			}),
			note(&v1alpha1.NodeRestoreList{}, every),
			note(&batchv1.JobList{}, every, operator),
			note(&batchv1.JobList{}, every, client.InNamespace(restoreNamespace)),
			note(&coordinationv1.LeaseList{}, every, operator, client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}),
		} {
			if err != nil {
				return err
			}
		}
		if len(left) > 0 {
			text, err := json.Marshal(left)
			return errors(err, string(text))
		}
		return nil
	})
}

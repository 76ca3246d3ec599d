//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

const restoreNamespace = "storagebench-system-restore"

// upset is a lab whose benchmark meets a fault.
type upset struct {
	*lab
	b      *v1alpha1.StorageBenchmark
	device string
	before queue
}

// moments are when faults come. Each brings its benchmark there, and returns what lets it go
// on afterwards.
var moments = map[string]func(*upset) (goOn func()){
	"before its Pod starts":               (*upset).waitsForItsPod,
	"with a setting changed":              (*upset).hasChanged,
	"while its node waits to be restored": (*upset).waitsForRestore,
	"while it is deleted": func(u *upset) func() {
		goOn := u.refuseRestores(admissionv1.Create)
		u.hasChanged()
		u.do(api.Delete(u.ctx, u.b)) // its Pod takes a moment to end
		return goOn
	},
}

// mishaps are what may come at any of these moments. Each reports whether it found something
// to strike. None of them needs to be undone.
var mishaps = map[string]func(*upset) (struck bool){
	"its Pods are deleted without grace": (*upset).killPods,
	"its Jobs are deleted":               func(u *upset) bool { return u.deleteAll(&batchv1.JobList{}) },
	"its grants and plans are deleted, and its Pods": func(u *upset) bool {
		grants, plans := u.deleteAll(&corev1.SecretList{}), u.deleteAll(&corev1.ConfigMapList{})
		u.killPods()
		return grants && plans
	},
	"the Lease of its node is deleted": func(u *upset) bool {
		return u.did(api.Delete(u.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "node-" + u.node}}))
	},
	"its status is wiped": func(u *upset) bool {
		return u.did(api.Status().Patch(u.ctx, u.b, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
	},
	"the labels of its Jobs are changed": func(u *upset) (struck bool) {
		jobs := &batchv1.JobList{}
		u.do(api.List(u.ctx, jobs, client.InNamespace(u.namespace)))
		for i := range jobs.Items {
			struck = u.did(api.Patch(u.ctx, &jobs.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"storagebench.io/run":"other"}}}`)))) || struck
		}
		return struck
	},
	"its finalizer is taken away": func(u *upset) bool {
		now, there := u.present()
		return there && len(now.Finalizers) > 0 &&
			u.did(api.Patch(u.ctx, now, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	},
	// The API server ignores a second DELETE; the benchmark must not mind it either.
	"it is deleted, or once more": func(u *upset) bool {
		now, there := u.present()
		return u.did(api.Delete(u.ctx, u.b)) && there && now.DeletionTimestamp.IsZero()
	},
	"it is suspended, and goes on": func(u *upset) bool {
		struck := u.did(api.Patch(u.ctx, u.b, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))))
		u.saysWhy(u.b)
		u.do(api.Patch(u.ctx, u.b, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))))
		return struck
	},
}

// A fault that finds nothing to strike, as one of Pods before there is any, is not counted. Its
// benchmark must come to its end as any other.
func TestSettingsAreBackWheneverAFaultComes(t *testing.T) {
	t.Parallel()
	for moment, reach := range moments {
		for name, strike := range mishaps {
			t.Run(moment+": "+name, func(t *testing.T) {
				t.Parallel()
				u := &upset{}
				u.lab, u.device, u.before = newTunedLab(t)
				goOn := reach(u)
				struck := strike(u)
				goOn()
				if struck {
					u.met(name+" "+moment, u.b)
				} else {
					t.Log("the fault found nothing to strike, and is not counted")
					u.notWedged(u.b)
				}
				u.over(u.b, u.device, u.before)
			})
		}
	}
}

// do fails the test on an error, but for what is gone already.
func (u *upset) do(err error) {
	u.t.Helper()
	if client.IgnoreNotFound(err) != nil {
		u.t.Fatal(err)
	}
}

// did is do, and reports whether there was something to do it to.
func (u *upset) did(err error) bool {
	u.t.Helper()
	u.do(err)
	return err == nil
}

// present returns the benchmark as it is now, if it is there.
func (u *upset) present() (now *v1alpha1.StorageBenchmark, there bool) {
	u.t.Helper()
	now = &v1alpha1.StorageBenchmark{}
	return now, u.did(api.Get(u.ctx, client.ObjectKeyFromObject(u.b), now))
}

// killPods ends the benchmark's Pods at once, and reports whether one was there.
func (u *upset) killPods() bool {
	u.t.Helper()
	return u.deleteEach(&corev1.PodList{}, client.MatchingLabels{jobspec.LabelBenchmark: u.b.Name}, client.GracePeriodSeconds(0))
}

// deleteAll deletes the operator's objects of a kind, and reports whether one was there.
func (u *upset) deleteAll(kind client.ObjectList) bool {
	u.t.Helper()
	return u.deleteEach(kind, client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func (u *upset) deleteEach(kind client.ObjectList, labels client.MatchingLabels, option client.DeleteOption) (struck bool) {
	u.t.Helper()
	u.do(api.List(u.ctx, kind, client.InNamespace(u.namespace), labels))
	u.do(meta.EachListItem(kind, func(o runtime.Object) error {
		struck = u.did(api.Delete(u.ctx, o.(client.Object), option)) || struck
		return nil
	}))
	return struck
}

func (u *upset) waitsForItsPod() func() {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: quantity("0")}},
	}
	u.do(api.Create(u.ctx, quota))
	u.b = u.benchmark("b", tuned(u.device, 1))
	u.eventually("its Job waits for a Pod", func() error {
		jobs := &batchv1.JobList{}
		if err := api.List(u.ctx, jobs, client.InNamespace(u.namespace)); err != nil {
			return err
		}
		if len(jobs.Items) != 1 || *jobs.Items[0].Spec.Suspend {
			return fmt.Errorf("%d Jobs", len(jobs.Items))
		}
		return nil
	})
	return func() { u.do(api.Delete(u.ctx, quota)) }
}

func (u *upset) hasChanged() func() {
	u.b = u.benchmark("b", tuned(u.device, 1))
	u.changed(u.device, u.before)
	return func() {}
}

// waitsForRestore leaves the node with a setting changed, no worker, and a restore whose Job
// is refused.
func (u *upset) waitsForRestore() func() {
	goOn := u.refuseRestores(admissionv1.Create)
	u.hasChanged()
	u.kill(u.namespace, map[string]string{jobspec.LabelBenchmark: u.b.Name})
	u.deleteAll(&batchv1.JobList{})
	u.eventually("the restore of the node is refused", func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(u.ctx, types.NamespacedName{Name: u.node}, record); err != nil {
			return err
		}
		if record.Status.Phase != v1alpha1.RestoreRunning && record.Status.Phase != v1alpha1.RestoreFailed {
			return fmt.Errorf("%+v", record.Status)
		}
		return nil
	})
	return goOn
}

// refuseRestores has the API server refuse an operation on the restore Jobs of the lab's
// node, until what it returns is called.
func (l *lab) refuseRestores(operation admissionv1.OperationType) (again func()) {
	l.t.Helper()
	name := "e2e-" + l.namespace
	object := "object"
	if operation == admissionv1.Delete {
		object = "oldObject"
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{operation},
				Rule:       admissionv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}}}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("request.namespace != %q || !%s.metadata.?ownerReferences.orValue([]).exists(o, o.name == %q)", restoreNamespace, object, l.node),
				Message:    "the test refuses it",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	again = func() {
		for _, o := range []client.Object{binding, policy} {
			if err := api.Delete(l.t.Context(), o); client.IgnoreNotFound(err) != nil {
				l.t.Error(err)
			}
		}
	}
	l.atEnd(binding, policy)
	for _, o := range []client.Object{policy, binding} {
		if err := api.Create(l.ctx, o); err != nil {
			l.t.Fatal(err)
		}
	}
	if operation == admissionv1.Create {
		l.eventually("the API server knows the policy", func() error {
			if err := api.Create(l.ctx, l.restoreJob(), client.DryRunAll); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
				return fmt.Errorf("a restore Job is not refused: %v", err)
			}
			return nil
		})
	}
	return again
}

// restoreJob is one that looks like a restore of the lab's node to the policy of the test.
func (l *lab) restoreJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: restoreNamespace, GenerateName: "probe-", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRestore", Name: l.node, UID: "probe",
		}}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "probe", Image: "probe"}},
		}}},
	}
}

// A Job that is not deleted is not taken for the next one's.
func TestTheDeletionOfARestoreJobIsRefusedAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	again := l.refuseRestores(admissionv1.Delete)
	b := l.benchmark("first", tuned(device, 1))
	l.changed(device, before)
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	l.met("DELETE of restore Jobs is refused", b)
	l.ended(b, reason.Finished)
	l.asBefore(b, device, before)
	second := l.benchmark("second", tuned(device, 50))
	l.changed(device, before)
	if err := api.Delete(l.ctx, second); err != nil {
		t.Fatal(err)
	}
	l.met("DELETE of restore Jobs is refused, for a second time", second)
	l.gone(second)
	faults.Compare(t, before, readQueue(t, device))
	again()
	l.nothingLeft()
}

// An administrator deletes the record of a node, and who drains it evicts the worker.
func TestTheRecordOfANodeIsDeletedAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("unrecorded", tuned(device, 1))
	l.changed(device, before)
	record := &v1alpha1.NodeRestore{ObjectMeta: metav1.ObjectMeta{Name: l.node}}
	if err := api.Delete(l.ctx, record); err != nil {
		t.Fatal(err)
	}
	l.eventually("the node is on record again", func() error {
		return api.Get(l.ctx, client.ObjectKeyFromObject(record), &v1alpha1.NodeRestore{})
	})
	l.met("the record of its node is deleted", b)
	worker := l.measuring(b, l.worker("disk"), 1)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: worker.Name}}
	if err := api.SubResource("eviction").Create(l.ctx, worker, eviction); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	l.met("its Pod is evicted", b)
	l.over(b, device, before)
}

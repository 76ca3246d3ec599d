package trim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

func TestWhatIsReadIsKept(t *testing.T) {
	o := metav1.ObjectMeta{
		Name: "x", UID: "u", Finalizers: []string{"a", Finalizer},
		Labels: map[string]string{
			jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: "b", jobspec.LabelRun: "r", jobspec.LabelWorker: "w",
			jobspec.LabelRecord: "n", batchv1.JobNameLabel: "j", v1alpha1.LabelSchedule: "s",
		},
		Annotations: map[string]string{
			jobspec.AnnotationComplete: "true", v1alpha1.AnnotationRerun: "2", v1alpha1.AnnotationScheduledAt: "2026-01-01T00:00:00Z",
			v1alpha1.AnnotationAcknowledge: strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 63)+", ", 64), ", "),
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: strings.Repeat("j", 253), UID: "ju", Controller: new(true)}},
	}
	before := *o.DeepCopy()
	Meta(&o)
	if diff := cmp.Diff(before, o); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALongAnnotationIsNotTakenForAShortOne(t *testing.T) {
	long := strings.Repeat("x,", MaxAnnotation)
	o := metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAcknowledge: long}}
	Meta(&o)
	got := o.Annotations[v1alpha1.AnnotationAcknowledge]
	if len(got) > MaxAnnotation+len(cut) || !strings.HasSuffix(got, cut) {
		t.Errorf("%d bytes, %q at the end", len(got), got[len(got)-8:])
	}
	Meta(&o)
	if o.Annotations[v1alpha1.AnnotationAcknowledge] != got {
		t.Error("it changes when it is cut twice")
	}
}

// One that has MaxFinalizers may have more, and is read whole before its list is replaced.
func TestOfManyFinalizersTheReadOnesAreKept(t *testing.T) {
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf("storagebench.io/%d", i))
	}
	all = append(all, Finalizer, metav1.FinalizerDeleteDependents)
	kept := few(all)
	if len(kept) != MaxFinalizers || !slices.Contains(kept, Finalizer) || !slices.Contains(kept, metav1.FinalizerDeleteDependents) {
		t.Errorf("kept %q", kept)
	}
	if again := few(kept); !slices.Equal(again, kept) {
		t.Errorf("then %q", again)
	}
}

func TestAnOwnerThatNobodyCanHaveIsDropped(t *testing.T) {
	o := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: strings.Repeat("x", 1<<20), UID: "u", Controller: new(true)}}}
	if Meta(&o); o.OwnerReferences != nil {
		t.Error("a megabyte is kept")
	}
}

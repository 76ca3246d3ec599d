package restore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"storagebench.io/storagebench/api/v1alpha1"
)

// A record that an administrator gave up is nobody's any more: whoever changes settings next, be
// it the same worker, has one of its own, which also permits what the journal may still have.
func TestARecordThatWasGivenUpIsReplaced(t *testing.T) {
	setting := func(name string, devices ...string) v1alpha1.RestorableSetting {
		return v1alpha1.RestorableSetting{Name: name, Devices: devices}
	}
	depth, cache := setting("block.queue.nr_requests", "sda"), setting("block.queue.write_cache", "sda")
	for name, c := range map[string]struct {
		phase    v1alpha1.RestorePhase
		job      types.UID
		want     []v1alpha1.RestorableSetting
		replaced bool
		fails    bool
	}{
		"the same worker's":           {v1alpha1.RestoreInUse, "job", []v1alpha1.RestorableSetting{depth}, false, false},
		"another's":                   {v1alpha1.RestoreFailed, "other", []v1alpha1.RestorableSetting{depth}, false, true},
		"of a node that was gone":     {v1alpha1.RestoreGone, "other", []v1alpha1.RestorableSetting{depth}, false, true},
		"another's that was given up": {v1alpha1.RestoreAbandoned, "other", []v1alpha1.RestorableSetting{cache, depth}, true, false},
		"the same worker's, given up": {v1alpha1.RestoreAbandoned, "job", []v1alpha1.RestorableSetting{cache, depth}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			existing := &v1alpha1.NodeRestore{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1"}, Spec: v1alpha1.NodeRestoreSpec{Settings: []v1alpha1.RestorableSetting{depth}}}
			existing.Spec.Job.UID = c.job
			existing.Status.Phase = c.phase
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(existing).WithStatusSubresource(existing).Build()
			r := Records{Client: api, Live: api, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))}
			spec := v1alpha1.NodeRestoreSpec{Settings: []v1alpha1.RestorableSetting{cache}}
			spec.Job.UID = "job"
			if err := r.Open(t.Context(), "n1", spec); (err != nil) != c.fails {
				t.Errorf("it says: %v", err)
			}
			got := &v1alpha1.NodeRestore{}
			if err := api.Get(t.Context(), types.NamespacedName{Name: "n1"}, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Spec.Settings); diff != "" || (got.Status.Phase != c.phase) != c.replaced {
				t.Errorf("phase %q, settings (-want +got):\n%s", got.Status.Phase, diff)
			}
		})
	}
}

func TestARecordHasRoomForSoManySettings(t *testing.T) {
	var settings, earlier []v1alpha1.RestorableSetting
	for range maxSettings - 1 {
		settings = append(settings, v1alpha1.RestorableSetting{Name: "now"})
		earlier = append(earlier, v1alpha1.RestorableSetting{Name: "before", Devices: []string{string(rune('a' + len(earlier)))}})
	}
	all := allSettings(settings, earlier)
	if len(all) != maxSettings || all[maxSettings-1].Name != "before" {
		t.Errorf("%d settings: %+v", len(all), all[len(all)-1])
	}
}

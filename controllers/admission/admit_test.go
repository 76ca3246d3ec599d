package admission

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/trial"
)

func TestTheFirstNodesThatCanBeUsedMeasure(t *testing.T) {
	usable := func(*corev1.Node) {}
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: effect}} }
	}
	away := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }
	controlPlane, err := labels.Parse("!control-plane")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		nodes  []corev1.Node
		change func(*Facts)
		want   []string
		says   []string // of a failure
	}{
		"the first by name":     {[]corev1.Node{node("c", usable), node("a", usable), node("b", usable)}, func(f *Facts) { f.Benchmark.Spec.Placement.Nodes = new(intstr.FromInt32(2)) }, []string{"a", "b"}, nil},
		"one, if nobody says":   {[]corev1.Node{node("b", usable), node("a", usable)}, func(*Facts) {}, []string{"a"}, nil},
		"all that can":          {[]corev1.Node{node("b", usable), node("c", away), node("a", usable)}, func(f *Facts) { f.Benchmark.Spec.Placement.Nodes = new(intstr.FromString("All")) }, []string{"a", "b"}, nil},
		"not one that is away":  {[]corev1.Node{node("a", away), node("b", usable)}, func(*Facts) {}, []string{"b"}, nil},
		"not one without Ready": {[]corev1.Node{node("a", func(n *corev1.Node) { n.Status.Conditions = nil }), node("b", usable)}, func(*Facts) {}, []string{"b"}, nil},
		"not a cordoned one":    {[]corev1.Node{node("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }), node("b", usable)}, func(*Facts) {}, []string{"b"}, nil},
		"not a tainted one":     {[]corev1.Node{node("a", taint(corev1.TaintEffectNoSchedule)), node("b", taint(corev1.TaintEffectNoExecute)), node("c", usable)}, func(*Facts) {}, []string{"c"}, nil},
		"one that prefers not":  {[]corev1.Node{node("a", taint(corev1.TaintEffectPreferNoSchedule))}, func(*Facts) {}, []string{"a"}, nil},
		"a taint that is borne": {[]corev1.Node{node("a", taint(corev1.TaintEffectNoSchedule))}, func(f *Facts) {
			f.Benchmark.Spec.Placement.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
		}, []string{"a"}, nil},
		"not the operator's own": {[]corev1.Node{node("a", func(n *corev1.Node) { n.Labels["control-plane"] = "" }), node("b", usable)}, func(f *Facts) { f.Limits.Nodes = controlPlane }, []string{"b"}, nil},
		"tolerations do not get round the operator's selector": {
			[]corev1.Node{node("a", func(n *corev1.Node) { n.Labels["control-plane"] = "" })},
			func(f *Facts) {
				f.Limits.Nodes = controlPlane
				f.Benchmark.Spec.Placement.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			}, nil, []string{"spec.placement.nodes", "1 not for benchmarks", "!control-plane"},
		},
		"where the claim's volume is": {
			[]corev1.Node{node("a", usable), node("b", usable)},
			func(f *Facts) {
				f.Claims["db-0"] = &Volume{Claim: &corev1.PersistentVolumeClaim{}, Volume: localVolume("b")}
			},
			[]string{"b"}, nil,
		},
		"a claim without a volume yet": {
			[]corev1.Node{node("a", usable)},
			func(f *Facts) { f.Claims["db-0"] = &Volume{Claim: &corev1.PersistentVolumeClaim{}} }, []string{"a"}, nil,
		},
		"none has the labels": {nil, func(*Facts) {}, nil, []string{"spec.placement.nodeSelector", "label a node"}},
		"too few": {
			[]corev1.Node{node("a", away), node("b", taint(corev1.TaintEffectNoSchedule)), node("c", usable)},
			func(f *Facts) { f.Benchmark.Spec.Placement.Nodes = new(intstr.FromInt32(7)) }, nil,
			[]string{"spec.placement.nodes", "7 wanted", "only 1 can be used", "1 not ready, 1 tainted"},
		},
		"none of all": {[]corev1.Node{node("a", away)}, func(f *Facts) { f.Benchmark.Spec.Placement.Nodes = new(intstr.FromString("All")) }, nil, []string{"only 0 can be used"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := admissible()
			f.Nodes = c.nodes
			c.change(&f)
			got, failure := chooseNodes(f)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			message := ""
			if failure != nil {
				message = failure.Error()
			}
			for _, want := range c.says {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not say %q", message, want)
				}
			}
		})
	}
}

func localVolume(node string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}},
	}}}}
}

// anyTunable is a catalogue that knows every name.
type anyTunable struct{}

func (anyTunable) Check(string, string) error     { return nil }
func (anyTunable) DataLoss(string, string) string { return "" }

// tunable is a benchmark that may set a scheduler on loop devices of node n1.
func tunable() Facts {
	f := admissible()
	allowPrivilege(&f)
	f.Benchmark.Spec.Variants = []v1alpha1.Variant{{Name: "control"}, {Name: "none", Tunables: []v1alpha1.Tunable{{Name: "block.queue.scheduler", Value: v1alpha1.Text("none")}}}}
	f.Policies = []v1alpha1.TunablePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.TunablePolicySpec{
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		Devices:           []string{"loop*", "sda"},
		Tunables:          []v1alpha1.PermittedTunable{{Name: "block.queue.*"}},
	}}}
	return f
}

// What was permitted when the run was planned is asked for again when a worker starts.
func TestAPolicyThatWasRevokedOrNarrowedCounts(t *testing.T) {
	rules := Rules{Tunables: anyTunable{}}
	planned := tunable()
	variants, err := permit(planned, rules, []policy.Node{{Name: "n1"}})
	if err != nil {
		t.Fatal(err)
	}
	plan := &trial.Plan{Variants: variants}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   trial.Class // empty: still permitted
	}{
		"nothing has changed":                    {func(*Facts) {}, ""},
		"the policy was revoked":                 {func(f *Facts) { f.Policies = nil }, reason.TunableNotPermitted},
		"a device was taken out":                 {func(f *Facts) { f.Policies[0].Spec.Devices = []string{"loop*"} }, reason.TunableNotPermitted},
		"a pattern was made narrower":            {func(f *Facts) { f.Policies[0].Spec.Devices = []string{"loop1", "sda"} }, reason.TunableNotPermitted},
		"a device was added":                     {func(f *Facts) { f.Policies[0].Spec.Devices = []string{"loop*", "sda", "sdb"} }, ""},
		"the tunable was taken out":              {func(f *Facts) { f.Policies[0].Spec.Tunables[0].Name = "vm.*" }, reason.TunableNotPermitted},
		"the value was taken out":                {func(f *Facts) { f.Policies[0].Spec.Tunables[0].Values = []v1alpha1.Scalar{v1alpha1.Text("bfq")} }, reason.TunableNotPermitted},
		"it is for other namespaces":             {func(f *Facts) { f.Policies[0].Spec.NamespaceSelector.MatchLabels["team"] = "b" }, reason.TunableNotPermitted},
		"the namespace has lost a label":         {func(f *Facts) { delete(f.Namespace.Labels, "team") }, reason.TunableNotPermitted},
		"it is for other nodes":                  {func(f *Facts) { f.Policies[0].Spec.NodeSelector = map[string]string{"disk": "fast"} }, reason.TunableNotPermitted},
		"it is for nodes with a label":           {func(f *Facts) { f.Policies[0].Spec.NodeSelector = map[string]string{"room": "2"} }, ""},
		"it is for nodes with another value":     {func(f *Facts) { f.Policies[0].Spec.NodeSelector = map[string]string{"room": "3"} }, reason.TunableNotPermitted},
		"the namespace allows privilege no more": {func(f *Facts) { delete(f.Namespace.Labels, podSecurityLabel) }, reason.PodSecurityForbids},
		"another policy has taken its place": {func(f *Facts) {
			f.Policies[0].Name = "q"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := tunable()
			c.change(&f)
			err := Permitted(f, rules, plan, policy.Node{Name: "n1", Labels: map[string]string{"room": "2"}})
			got := trial.Class("")
			if failure, ok := errors.AsType[*trial.Failure](err); ok {
				got = failure.Class
			} else if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
		})
	}
	if err := Permitted(Facts{}, rules, &trial.Plan{}, policy.Node{Name: "n1"}); err != nil {
		t.Errorf("a plan without tunables needs no policy: %v", err)
	}
}

func TestARecordHasEverySettingOnceWithAllOfItsPlaces(t *testing.T) {
	plan := &trial.Plan{Variants: []trial.Variant{
		{Name: "control"},
		{Name: "a", Tunables: []trial.Tunable{{Name: "block.queue.scheduler", Devices: []string{"sda", "loop*"}}, {Name: "zfs.recordsize", Datasets: []string{"tank/**"}}}},
		{Name: "b", Tunables: []trial.Tunable{{Name: "block.queue.scheduler", Devices: []string{"loop*", "nvme0n1"}}}},
	}}
	want := []v1alpha1.RestorableSetting{
		{Name: "block.queue.scheduler", Devices: []string{"loop*", "nvme0n1", "sda"}},
		{Name: "zfs.recordsize", Datasets: []string{"tank/**"}},
	}
	got := Settings(plan)
	for i := range got { // empty and missing are the same on the wire
		got[i].Devices, got[i].Datasets = slices.Concat(got[i].Devices), slices.Concat(got[i].Datasets)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sda", "loop*"}, plan.Variants[1].Tunables[0].Devices); diff != "" {
		t.Errorf("the plan was changed:\n%s", diff)
	}
}

func TestVolumesThatStayAreSaid(t *testing.T) {
	f := admissible()
	if notes := Notes(f); len(notes) != 0 {
		t.Errorf("nothing stays: %q", notes)
	}
	f.Classes["fast"].ReclaimPolicy = new(corev1.PersistentVolumeReclaimRetain)
	notes := Notes(f)
	if len(notes) != 1 || !strings.Contains(notes[0], "StorageClass fast has reclaimPolicy Retain") || !strings.Contains(notes[0], "target t") {
		t.Errorf("got %q", notes)
	}
	f.Classes = map[string]*storagev1.StorageClass{}
	if notes := Notes(f); len(notes) != 0 {
		t.Errorf("of a class that is gone: %q", notes)
	}
}

// A message that changes from pass to pass would be written each time.
func TestNodesAreNamedInTheOrderTheyWereChosenIn(t *testing.T) {
	node := func(name string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"is": name}}}
	}
	want := []policy.Node{{Name: "n1", Labels: map[string]string{"is": "n1"}}, {Name: "n3", Labels: map[string]string{"is": "n3"}}}
	for _, all := range [][]corev1.Node{{node("n1"), node("n2"), node("n3")}, {node("n3"), node("n2"), node("n1")}} {
		if diff := cmp.Diff(want, withLabels(all, []string{"n1", "n3"})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

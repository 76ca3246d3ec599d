package qualify

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Ask is what is to be qualified.
type Ask struct {
	Purpose      Purpose
	StorageClass string
	// Size of the volume.
	Size resource.Quantity
	// Node to measure on; empty: Nodes of any.
	Node  string
	Nodes int
	// Volumes on each node, one after the other; 0: one.
	Volumes int
	// Timeout of the run.
	Timeout time.Duration
	// Keep: the benchmark is not deleted, also if nobody is left who could delete it.
	Keep bool
}

const (
	// Trials is how many trials an interval takes.
	Trials = 6
	// MostTrials is how many there are of a volume if fewer do not decide.
	MostTrials = 12
)

// leftFor is how long a benchmark stays whose qualify was killed.
const leftFor = time.Hour

// Spec returns the spec of the benchmark that answers.
func (a Ask) Spec() v1alpha1.StorageBenchmarkSpec {
	name := a.Purpose.Name
	size := a.Size.DeepCopy()
	spec := v1alpha1.StorageBenchmarkSpec{
		Targets:   []v1alpha1.Target{{Name: "volume", StorageClass: &v1alpha1.StorageClassTarget{Name: a.StorageClass, Size: &size}}},
		Placement: v1alpha1.Placement{Nodes: new(intstr.FromInt32(int32(max(a.Nodes, 1))))},
		Workloads: []v1alpha1.Workload{{Name: name, Fio: &v1alpha1.FioWorkload{JobFile: a.Purpose.JobFile}}},
		Trials:    v1alpha1.Trials{Min: Trials, Volumes: int32(a.Volumes)},
		Timeout:   &metav1.Duration{Duration: a.Timeout},
	}
	if a.Volumes <= 1 {
		spec.Trials.Max = MostTrials // its gates end the run; those of several volumes cannot
	}
	if a.Node != "" {
		spec.Placement.NodeSelector = map[string]string{"kubernetes.io/hostname": a.Node}
	}
	if !a.Keep {
		spec.TTLAfterFinished = &metav1.Duration{Duration: leftFor}
	}
	for _, l := range a.Purpose.Decides {
		gate := v1alpha1.Gate{Workload: name, Part: l.Part, Metric: l.Metric}
		if l.Max != "" {
			gate.Max = &v1alpha1.Scalar{Text: l.Max}
		} else {
			gate.Min = &v1alpha1.Scalar{Text: l.Min}
		}
		spec.Gates = append(spec.Gates, gate)
	}
	return spec
}

// Name returns the name of the benchmark, without the random end that it gets: qualify-CLASS-PURPOSE-.
func (a Ask) Name() string {
	const most = 52 - len("qualify--xxxxx") // a benchmark's name has 52 characters at most
	class := strings.ReplaceAll(a.StorageClass, ".", "-")
	if room := most - len(a.Purpose.Name) - 1; len(class) > room {
		class = strings.TrimRight(class[:room], "-")
	}
	return fmt.Sprintf("qualify-%s-%s-", class, a.Purpose.Name)
}

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"storagebench.io/storagebench/api/v1alpha1"
)

// The mix has the same proportions in both sizes, so that the costs per
// benchmark can be compared.
const (
	// mostNodes is the largest number of nodes of a benchmark.
	mostNodes = 100
	// benchmarksPerWide: 20 of 10,000 benchmarks have many nodes.
	benchmarksPerWide = 500
	// hotShare of the benchmarks are all created at once, for few nodes, where they queue.
	hotShare = 0.10
	// queueLength is how many of them share a node.
	queueLength = 100
	// suspendedShare of the benchmarks exist from the start, suspended, and are
	// resumed while others run. The rest is created one by one.
	suspendedShare = 0.60
)

// class is how a benchmark's run starts.
type class string

const (
	wide      class = "wide"
	hot       class = "hot"
	suspended class = "suspended"
	fresh     class = "fresh"
)

// mixed is a number of benchmarks of the mix.
type mixed struct {
	// name begins the names of the benchmarks.
	name string
	// nodes of the cluster.
	nodes  int
	trials int
	counts map[class]int
	// wideNodes are the nodes of each wide benchmark.
	wideNodes int
	// hotNodes are the nodes that the hot benchmarks share.
	hotNodes int
}

// newMix scales the mix to a number of benchmarks. wideWorkers is how many workers the
// wide benchmarks have for each benchmark of the whole, 0: as the largest that there is.
func newMix(name string, benchmarks, nodes, trials int, wideWorkers float64) mixed {
	m := mixed{name: name, nodes: nodes, trials: trials, counts: map[class]int{}}
	m.counts[wide] = max(1, benchmarks/benchmarksPerWide)
	m.wideNodes = min(mostNodes, nodes)
	if wideWorkers > 0 {
		m.wideNodes = max(1, min(m.wideNodes, int(wideWorkers*float64(benchmarks)/float64(m.counts[wide])+0.5)))
	}
	m.counts[hot] = int(hotShare * float64(benchmarks))
	m.hotNodes = max(1, m.counts[hot]/queueLength)
	m.counts[suspended] = int(suspendedShare * float64(benchmarks))
	m.counts[fresh] = benchmarks - m.counts[wide] - m.counts[hot] - m.counts[suspended]
	return m
}

func (m mixed) total() int {
	return m.counts[wide] + m.counts[hot] + m.counts[suspended] + m.counts[fresh]
}

func (m mixed) workers() int { return m.total() - m.counts[wide] + m.counts[wide]*m.wideNodes }

// wideShare is how many workers of wide benchmarks there are for each benchmark.
func (m mixed) wideShare() float64 {
	return float64(m.counts[wide]*m.wideNodes) / float64(m.total())
}

func (m mixed) String() string {
	return fmt.Sprintf("%d benchmarks, %d workers: %d of %d nodes each, %d at once on %d nodes, %d suspended at first, %d that come as it runs",
		m.total(), m.workers(), m.counts[wide], m.wideNodes, m.counts[hot], m.hotNodes, m.counts[suspended], m.counts[fresh])
}

// benchmark is the i-th of its class.
func (m mixed) benchmark(c class, i int) *v1alpha1.StorageBenchmark {
	place := v1alpha1.Placement{}
	switch c {
	case wide:
		racks := max(1, m.nodes/mostNodes)
		place.NodeSelector = map[string]string{labelRack: fmt.Sprint(i % racks)}
		place.Nodes = new(intstr.FromInt(m.wideNodes))
	case hot:
		place.NodeSelector = map[string]string{corev1.LabelHostname: nodeName(i % m.hotNodes)}
	default:
		place.NodeSelector = map[string]string{corev1.LabelHostname: nodeName(m.hotNodes + i%max(1, m.nodes-m.hotNodes))}
	}
	return &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant(i), Name: fmt.Sprintf("%s-%s-%05d", m.name, c, i)},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Suspend: c == suspended,
			Targets: []v1alpha1.Target{{Name: className, StorageClass: &v1alpha1.StorageClassTarget{
				Name: className, Size: new(resource.MustParse("2Gi")),
			}}},
			Placement: place,
			Workloads: []v1alpha1.Workload{{Name: "randread", Fio: &v1alpha1.FioWorkload{JobFile: jobFile}}},
			Trials:    v1alpha1.Trials{Min: int32(m.trials)},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: storeName}},
		},
	}
}

// jobFile is what a user's would be: comments and several options.
const jobFile = `# Random reads of 4 KiB, as a database does that misses its cache.
[randread]
rw=randread
bs=4k
iodepth=16
ioengine=libaio
direct=1
size=1GiB
time_based=1
runtime=10
`

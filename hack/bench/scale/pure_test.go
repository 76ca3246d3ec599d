package main

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestParseMetrics(t *testing.T) {
	text := `# HELP rest_client_requests_total Number of HTTP requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 12
rest_client_requests_total{code="409",host="127.0.0.1:1",method="PATCH"} 3
rest_client_requests_total_more{code="200"} 100
leader_election_master_status{name="storagebench-manager"} 1
leader_election_master_status{name="storagebench-manager-2"} 5
with_a_space{le="a b"} 4 1700000000
go_memstats_heap_inuse_bytes 1.5e+07
`
	s, err := parseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		pairs []string
		want  float64
	}{
		{name: "rest_client_requests_total", want: 15},
		{name: "rest_client_requests_total", pairs: []string{`method="GET"`}, want: 12},
		{name: "rest_client_requests_total", pairs: []string{`code="409"`, `method="GET"`}, want: 0},
		{name: "leader_election_master_status", pairs: []string{`name="storagebench-manager"`}, want: 1},
		{name: "go_memstats_heap_inuse_bytes", want: 1.5e7},
		{name: "with_a_space", want: 4},
		{name: "none", want: 0},
	} {
		if got := s.sum(c.name, c.pairs...); got != c.want {
			t.Errorf("%s%v: got %v, want %v", c.name, c.pairs, got, c.want)
		}
	}
	for _, bad := range []string{"name", "name{} ", "name x"} {
		if s, err := parseMetrics(strings.NewReader(bad + "\n")); err == nil {
			t.Errorf("%q was read as %v", bad, s)
		}
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{values: hundred, p: 50, want: 50},
		{values: hundred, p: 99, want: 99},
		{values: hundred, p: 99.5, want: 100},
		{values: []float64{3, 1, 2}, p: 50, want: 2},
		{values: []float64{7}, p: 99, want: 7},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("p%v of %d values: got %v, want %v", c.p, len(c.values), got, c.want)
		}
	}
	if got := percentile(nil, 99); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v", got)
	}
}

func TestCountAudit(t *testing.T) {
	complete := `{"verb":"patch","objectRef":{"resource":"storagebenchmarks","subresource":"status","name":"a"},"responseStatus":{"code":200}}
{"verb":"patch","objectRef":{"resource":"storagebenchmarks","subresource":"status","name":"b"},"responseStatus":{"code":409}}
{"verb":"update","objectRef":{"resource":"leases","name":"storagebench-manager"},"responseStatus":{"code":200}}
{"verb":"create","objectRef":{"resource":"leases","name":"node-a"},"responseStatus":{"code":201}}
{"verb":"get","requestURI":"/apis","responseStatus":{"code":200}}
`
	all, refused, n, err := countAudit(strings.NewReader(complete + `{"verb":"get","obj`))
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(len(complete)) {
		t.Errorf("%d bytes were read, want %d", n, len(complete))
	}
	want := requests{"patch storagebenchmarks/status": 2, leaderElection: 1, "create leases": 1, "get discovery": 1}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(requests{"patch storagebenchmarks/status": 1}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if got := all.total(); got != 4 {
		t.Errorf("total without the leader's Lease: got %d, want 4", got)
	}
	if diff := cmp.Diff([]string{"patch storagebenchmarks/status", "create leases", "get discovery", leaderElection}, all.most()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestParseUsage(t *testing.T) {
	stat := "123 (a (strange) name) S 1 123 123 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 100 1 2 3"
	status := "Name:\tmanager\nVmPeak:\t  999999 kB\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t9\n"
	got, err := parseUsage(stat, status)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(usage{CPU: 3 * time.Second, PeakMemory: 2 << 20, Memory: 1 << 20}, got); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if _, err := parseUsage("123 (name) S 1", status); err == nil {
		t.Error("a line that is too short was read")
	}
}

func TestTheSmallMixHasTheShareOfTheLargeOne(t *testing.T) {
	for _, c := range []struct{ benchmarks, nodes, wantWide, wantWideNodes, wantWorkers int }{
		{benchmarks: 10000, nodes: 1000, wantWide: 20, wantWideNodes: 100, wantWorkers: 11980},
		{benchmarks: 500, nodes: 50, wantWide: 1, wantWideNodes: 50, wantWorkers: 549},
	} {
		large := newMix("large", c.benchmarks, c.nodes, 3, 0)
		if large.total() != c.benchmarks || large.counts[wide] != c.wantWide || large.wideNodes != c.wantWideNodes || large.workers() != c.wantWorkers {
			t.Errorf("%d benchmarks on %d nodes: %s", c.benchmarks, c.nodes, large)
		}
		small := newMix("small", 100, c.nodes, 3, large.wideShare())
		if got, want := float64(small.workers())/100, float64(large.workers())/float64(large.total()); math.Abs(got-want) > 0.02 {
			t.Errorf("%.3f workers for each benchmark, want %.3f: %s", got, want, small)
		}
		if small.total() != 100 || small.counts[hot] != 10 || small.counts[suspended] != 60 {
			t.Errorf("small: %s", small)
		}
	}
}

func TestVerdict(t *testing.T) {
	mix := newMix("m", 100, 10, 3, 0)
	spent := func(each time.Duration, count int) cost {
		return cost{mix: mix, cpu: 100 * each, requests: requests{"get secrets": 100 * count, leaderElection: 1000}}
	}
	many := make([]float64, 100)
	for name, c := range map[string]struct {
		fill      func(v *verdict)
		wantShort bool
	}{
		"costs at the limit":     {fill: func(v *verdict) { v.costs(spent(10*time.Millisecond, 10), spent(12*time.Millisecond, 12)) }},
		"CPU above it":           {fill: func(v *verdict) { v.costs(spent(10*time.Millisecond, 10), spent(13*time.Millisecond, 12)) }, wantShort: true},
		"requests above it":      {fill: func(v *verdict) { v.costs(spent(10*time.Millisecond, 10), spent(12*time.Millisecond, 13)) }, wantShort: true},
		"memory below":           {fill: func(v *verdict) { v.memory(299_999_999, 1) }},
		"memory at the limit":    {fill: func(v *verdict) { v.memory(300_000_000, 1) }, wantShort: true},
		"idle below":             {fill: func(v *verdict) { v.idle(0.009, time.Minute) }},
		"idle at the limit":      {fill: func(v *verdict) { v.idle(0.01, time.Minute) }, wantShort: true},
		"delays":                 {fill: func(v *verdict) { v.delays(many) }},
		"too few delays":         {fill: func(v *verdict) { v.delays(many[:99]) }, wantShort: true},
		"two of 100 delays long": {fill: func(v *verdict) { v.delays(append([]float64{3, 3}, many[:98]...)) }, wantShort: true},
		"no delays":              {fill: func(v *verdict) { v.delays(nil) }, wantShort: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &verdict{}
			c.fill(v)
			if v.short != c.wantShort {
				t.Errorf("short: got %t, want %t: %s", v.short, c.wantShort, v.line())
			}
			word := "bench-scale: ok: "
			if c.wantShort {
				word = "bench-scale: short: "
			}
			if !strings.HasPrefix(v.line(), word) {
				t.Errorf("the line does not begin with %q: %s", word, v.line())
			}
		})
	}
}

func TestWantedNode(t *testing.T) {
	affinity := func(key string, values ...string) *corev1.Affinity {
		r := []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}
		term := corev1.NodeSelectorTerm{MatchExpressions: r}
		if key == metav1.ObjectNameField {
			term = corev1.NodeSelectorTerm{MatchFields: r}
		}
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
	}
	for name, c := range map[string]struct {
		affinity *corev1.Affinity
		want     string
	}{
		"by name":      {affinity: affinity(metav1.ObjectNameField, "node-1"), want: "node-1"},
		"by host name": {affinity: affinity(corev1.LabelHostname, "node-2"), want: "node-2"},
		"several":      {affinity: affinity(corev1.LabelHostname, "node-1", "node-2")},
		"by zone":      {affinity: affinity(corev1.LabelTopologyZone, "a")},
		"none":         {},
	} {
		if got := wantedNode(&corev1.Pod{Spec: corev1.PodSpec{Affinity: c.affinity}}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAllowedImage(t *testing.T) {
	manifest, err := os.ReadFile("../../../" + policies)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := allowedImage(manifest); err != nil || !strings.Contains(got, "storagebench") {
		t.Errorf("of the policies: got %q, %v", got, err)
	}
	if got, err := allowedImage([]byte("  - expression: '[\"a\", \"b\"]'\n    name: images\n")); err == nil {
		t.Errorf("of two images: got %q", got)
	}
}

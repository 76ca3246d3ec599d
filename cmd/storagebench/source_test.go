package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/samples/codec"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// storedRun writes a run with one worker of two trials, and returns its directory.
func storedRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "lab/b/one")
	s := summaryOf("fast", 2, 0, 1000, 0)
	s.Attempts = map[string][]result.Attempt{"fast.a": {{Number: 1}}}
	stored(t, filepath.Join(dir, "summary.json"), s)
	stored(t, filepath.Join(dir, "workers/fast.a/summary.json"), workerSummary("fast.a", 990, 1010))
	return dir
}

func workerSummary(name string, rates ...float64) result.WorkerSummary {
	w := result.WorkerSummary{
		Schema: result.WorkerSchema, Benchmark: trial.Benchmark{Namespace: "lab", Name: "b"}, Run: "one", Planned: len(rates),
		Worker: trial.Worker{Name: name, Target: "fast", Node: "a"}, Workloads: []result.WorkloadPool{}, Attempts: []result.Attempt{},
	}
	for i, rate := range rates {
		w.Trials = append(w.Trials, result.TrialSummary{
			Trial: trial.Trial{ID: fmt.Sprintf("oltp.r%03d", i+1), Workload: "oltp", Repeat: i + 1}, Outcome: result.Measured, Attempt: 1,
			StartedAt: time.Unix(int64(1_700_000_000+10*i), 0), Operations: []string{"read"},
			Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: rate}},
		})
	}
	return w
}

func TestReportReadsTheTrialsOfARun(t *testing.T) {
	dir := storedRun(t)
	for format, want := range map[string]string{
		"csv --of trials": "oltp.r002,2,1,Measured,2023-11-14T22:13:30Z,,read.iops,1/s,1010,false,,\n",
		"benchstat":       "BenchmarkOltp/target=fast/node=a/op=read\t1\t1010 IO/s\n",
		"html":            `"y":[990,1010]`,
		"markdown":        "| `fast` | `a` | `oltp` | `read` | 2 | 1.00k |",
		"junit":           `<testcase classname="fast.oltp.a" name="read">`,
	} {
		stdout, stderr, code := output(t, append(append([]string{"report", "-o"}, strings.Fields(format)...), dir)...)
		if code != exitDone || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d, %s: no %q in\n%.2000s", format, code, stderr, want, stdout)
		}
	}
	// What the operator accepted goes before what the worker stored.
	stored(t, filepath.Join(dir, "accepted/fast.a.json"), workerSummary("fast.a", 5))
	if stdout, _, _ := output(t, "report", "-o", "csv", "--of", "trials", dir); !strings.Contains(stdout, "1/s,5,") || strings.Contains(stdout, "1010") {
		t.Errorf("not what was accepted:\n%s", stdout)
	}
}

func TestReportRefusesTrialsOfAnotherRun(t *testing.T) {
	dir := storedRun(t)
	forged := workerSummary("fast.a", 1)
	forged.Run = "two"
	stored(t, filepath.Join(dir, "workers/fast.a/summary.json"), forged)
	_, stderr, code := output(t, "report", "-o", "html", dir)
	if code != exitInvalid || !strings.Contains(stderr, "of another run") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestReportSaysThatTrialsAreMissing(t *testing.T) {
	dir := storedRun(t)
	alone := filepath.Join(t.TempDir(), "s.json")
	content, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	stored(t, alone, string(content))
	if _, stderr, code := output(t, "report", "-o", "benchstat", alone); code != exitInvalid || !strings.Contains(stderr, "only the run's summary") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if stdout, stderr, code := output(t, "report", "-o", "html", alone); code != exitDone || !strings.Contains(stderr, "the trials of 1 worker cannot be read") || stdout == "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	// The name of a worker is what a document says, and leads nowhere else.
	s := summaryOf("fast", 2, 0, 1000, 0)
	s.Attempts = map[string][]result.Attempt{"../../../../etc/passwd": {{Number: 1}}}
	stored(t, filepath.Join(dir, "summary.json"), s)
	if _, stderr, code := output(t, "report", "-o", "html", dir); code != exitDone || !strings.Contains(stderr, "the trials of 1 worker cannot be read") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestBadSourcesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"no bucket":            {args: []string{"s3:///x"}, want: "expected s3://BUCKET/PREFIX"},
		"a query":              {args: []string{"s3://b/x?y=z"}, want: "expected s3://BUCKET/PREFIX"},
		"no credentials":       {args: []string{"s3://b/x"}, env: []string{"AWS_ACCESS_KEY_ID="}, want: "set AWS_ACCESS_KEY_ID"},
		"an endpoint's path":   {args: []string{"s3://b/x"}, env: []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_ENDPOINT_URL=http://x/y"}, want: "scheme, host and port only"},
		"no authority":         {args: []string{"s3://b/x"}, env: []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_CA_BUNDLE=/does/not/exist"}, want: "AWS_CA_BUNDLE"},
		"neither file nor CR":  {args: []string{"lab/none"}, env: []string{"KUBECONFIG=/does/not/exist"}, want: "lab/none is no file, and as a StorageBenchmark"},
		"lines without a CSV":  {args: []string{"-o", "html", "--of", "trials", "x"}, want: "--of is for -o csv"},
		"samples of no trial":  {args: []string{"-o", "parquet", "x"}, want: "-o parquet needs --trial WORKER/TRIAL"},
		"lines of what is not": {args: []string{"-o", "csv", "--of", "trails", "x"}, want: "did you mean trials"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t.Context(), append([]string{"report"}, c.args...)...)
			cmd.Env = append(cmd.Env, c.env...)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != exitInvalid || !strings.Contains(string(out), c.want) {
				t.Errorf("exit code %d, %s; want %q", cmd.ProcessState.ExitCode(), out, c.want)
			}
		})
	}
}

// cluster serves one StorageBenchmark, and returns a kubeconfig for it.
func cluster(t *testing.T, b *v1alpha1.StorageBenchmark) string {
	t.Helper()
	b.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark"}
	group := "/apis/" + v1alpha1.GroupVersion.String()
	mux := http.NewServeMux()
	serve := func(path string, answer any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		})
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.GroupVersion.String(), Version: v1alpha1.GroupVersion.Version}
	serve("/api", metav1.APIVersions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIVersions"}})
	serve("/apis", metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}, Groups: []metav1.APIGroup{{
		Name: v1alpha1.GroupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}}})
	serve(group, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: v1alpha1.GroupVersion.String(),
		APIResources: []metav1.APIResource{{Name: "storagebenchmarks", Kind: "StorageBenchmark", Namespaced: true, Verbs: metav1.Verbs{"get"}}},
	})
	serve(group+"/namespaces/"+b.Namespace+"/storagebenchmarks/"+b.Name, b)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return stored(t, filepath.Join(t.TempDir(), "kubeconfig"), fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server.URL))
}

func TestReportReadsABenchmarkOfTheCluster(t *testing.T) {
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "b"}}
	finished := metav1.Now()
	b.Status.Run = &v1alpha1.RunStatus{ID: "one", FinishedAt: &finished, TrialsPlanned: 6, TrialsStored: 6}
	status.Summary(&b.Status, summaryOf("fast", 6, 990, 1000, 1010))
	kubeconfig := cluster(t, b)
	run := func(args ...string) (string, int) {
		cmd := program(t.Context(), append([]string{"report"}, args...)...)
		cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig, "AWS_ACCESS_KEY_ID=")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("-o", "markdown", "lab/b"); code != exitDone || !strings.Contains(out, "| `fast` | `a` | `oltp` | `read` | 6 | 1.00k | 990–1.01k |") || !strings.Contains(out, "6 of 6 trials measured, run `one`") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if out, code := run("lab/c"); code == exitDone || !strings.Contains(out, "lab/c") {
		t.Errorf("another name: exit code %d, %s", code, out)
	}
	missed := b.DeepCopy()
	missed.Status.Answer = &v1alpha1.AnswerStatus{Answer: result.NotQualified, Sentence: "1 of 1 gates is missed."}
	missed.Status.Gates = []v1alpha1.GateStatus{{Workload: "oltp", Metric: "read.latency.p99", Limit: "at most 10ms", Outcome: string(result.GateMissed), Message: "it is not", Value: new(resource.MustParse("0.02"))}}
	kubeconfig = cluster(t, missed)
	if out, code := run("lab/b"); code != exitRegression || !strings.Contains(out, "Missed") || !strings.Contains(out, "1 of 1 gates is missed") {
		t.Errorf("a gate that is missed: exit code %d, %s", code, out)
	}
	running := b.DeepCopy()
	running.Status.Run.FinishedAt = nil
	kubeconfig = cluster(t, running)
	if out, code := run("lab/b"); code != exitInvalid || !strings.Contains(out, "has not ended") {
		t.Errorf("a run that goes on: exit code %d, %s", code, out)
	}
}

func TestReportPassesTheSamplesOfATrialOn(t *testing.T) {
	dir := storedRun(t)
	table := &samples.Table{}
	row := table.Add(time.Unix(1_700_000_001, 0), samples.Workload, "read")
	table.Set(row, samples.Seconds, 1)
	table.Set(row, samples.Count, 1234)
	body, err := codec.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	stored(t, filepath.Join(dir, "workers/fast.a/samples/oltp.r001.parquet"), string(body))
	out := filepath.Join(t.TempDir(), "s.parquet")
	if _, stderr, code := output(t, "report", "-o", "parquet", "--trial", "fast.a/oltp.r001", "--out", out, dir); code != exitDone {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if stdout, _, _ := output(t, "report", "-o", "html", dir); !strings.Contains(stdout, `"kind":"timeline"`) || !strings.Contains(stdout, "[1234]") {
		t.Error("the page does not draw them")
	}
	for trial, want := range map[string]string{"fast.a": "WORKER/TRIAL", "fast.a/../x": "WORKER/TRIAL", "fast.a/oltp.r009": "there is no workers/fast.a/samples/oltp.r009.parquet"} {
		if _, stderr, code := output(t, "report", "-o", "parquet", "--trial", trial, dir); code != exitInvalid || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", trial, code, stderr)
		}
	}
}

// Whoever can write to the bucket can put another summary there, but not its digest into the status.
func TestASummaryThatSomebodyReplacedIsRefused(t *testing.T) {
	document, err := json.Marshal(summaryOf("fast", 6, 990, 1000, 1010))
	if err != nil {
		t.Fatal(err)
	}
	for digest, refused := range map[string]bool{"": false, trial.Digest(document): false, trial.Digest([]byte("{}")): true} {
		_, err := source{name: "lab/b", document: document, digest: digest}.readSummary(t.Context())
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "not the one that the operator stored") {
			t.Errorf("digest %q: %v", digest, err)
		}
	}
}

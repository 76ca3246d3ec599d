//go:build integration

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

// program builds the command line's program, and returns a function that runs it against this API
// server: what it prints, and its exit code.
func (l *lab) program() func(args ...string) (string, int) {
	l.t.Helper()
	dir := l.t.TempDir()
	binary, config := buildProgram(l.t, dir), filepath.Join(dir, "kubeconfig")
	writeKubeconfig(l.t, config, apiURL, l.namespace)
	return func(args ...string) (string, int) {
		l.t.Helper()
		cmd := exec.CommandContext(l.ctx, binary, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+config)
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		if err != nil {
			l.t.Fatal(err)
		}
		return string(out), 0
	}
}

// buildProgram builds storagebench in a directory.
func buildProgram(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "storagebench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/storagebench").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// writeKubeconfig writes a kubeconfig for an API server of a test.
func writeKubeconfig(t *testing.T, file string, server *rest.Config, namespace string) {
	t.Helper()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["test"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData}
	kubeconfig.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.CertData, ClientKeyData: server.KeyData, Token: server.BearerToken}
	kubeconfig.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin", Namespace: namespace}
	kubeconfig.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
}

func TestABenchmarkIsListedCancelledAndRunAgainByCommand(t *testing.T) {
	l := newLab(t, 1)
	storagebench := l.program()
	for _, wrong := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"get"}, 0, "there is no StorageBenchmark in namespace " + l.namespace},
		{[]string{"get", "-o", "jsn"}, 2, "did you mean json"},
		{[]string{"get", "-A", "one"}, 2, "it takes no NAME"},
		{[]string{"rerun", "nobody"}, 2, "there is no StorageBenchmark nobody"},
		{[]string{"cancel", "nobody"}, 2, "there is no StorageBenchmark nobody"},
		{[]string{"rerun"}, 2, "NAME"},
	} {
		if out, code := storagebench(wrong.args...); code != wrong.code || !strings.Contains(out, wrong.says) {
			t.Errorf("%v: exit code %d, want %d with %q: %s", wrong.args, code, wrong.code, wrong.says, out)
		}
	}

	b := l.benchmark("flush", as)
	l.await(b, "Starting")
	if out, code := storagebench("rerun", "flush"); code != 2 || !strings.Contains(out, "has not ended") {
		t.Errorf("a benchmark that runs is run again: exit code %d: %s", code, out)
	}
	if out, code := storagebench("cancel", "flush"); code != 0 || !strings.Contains(out, "flush has stopped") {
		t.Errorf("cancel: exit code %d: %s", code, out)
	}
	l.await(b, "Suspended")
	if out, code := storagebench("rerun", "flush"); code != 2 || !strings.Contains(out, "is suspended") {
		t.Errorf("a suspended benchmark is run again: exit code %d: %s", code, out)
	}
	if out, code := storagebench("get", "-o", "name"); code != 0 || out != "storagebenchmark.storagebench.io/flush\n" {
		t.Errorf("get -o name: exit code %d: %s", code, out)
	}
	if out, code := storagebench("get"); code != 0 || !strings.Contains(out, "Suspended") {
		t.Errorf("get: exit code %d: %s", code, out)
	}
	if out, code := storagebench("get", "flush", "-o", "yaml"); code != 0 || !strings.Contains(out, "\nkind: StorageBenchmark\n") {
		t.Errorf("get -o yaml: exit code %d: %s", code, out)
	}

	if out, code := storagebench("__complete", "watch", "fl"); code != 0 || !strings.HasPrefix(out, "flush\tSuspended\n") {
		t.Errorf("a shell that completes a name: exit code %d: %s", code, out)
	}
	create := []string{"create", "made", "--storage-class", "missing", "--fio", "rw=read"}
	if out, code := storagebench(create...); code != 0 || !strings.Contains(out, l.namespace+"/made created") {
		t.Errorf("create: exit code %d: %s", code, out)
	}
	if out, code := storagebench(create...); code != 2 || !strings.Contains(out, "there is a StorageBenchmark made") {
		t.Errorf("create for the second time: exit code %d: %s", code, out)
	}

	l.createsFromASchedule(storagebench)

	// One whose spec is refused has no run, and can be run again.
	refused := l.benchmark("refused", func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = "missing" })
	l.await(refused, "StorageClassNotFound")
	if out, code := storagebench("rerun", "refused", "--run-id", "second"); code != 0 || !strings.Contains(out, "run second begins") {
		t.Errorf("rerun: exit code %d: %s", code, out)
	}
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(refused), refused); err != nil || refused.Spec.RunID != "second" {
		t.Errorf("runID is %q: %v", refused.Spec.RunID, err)
	}
	if out, code := storagebench("rerun", "refused", "--run-id", "Not a label"); code != 2 || !strings.Contains(out, "runID") {
		t.Errorf("a run ID that the API refuses: exit code %d: %s", code, out)
	}
}

// createsFromASchedule runs now what a schedule runs at another time.
func (l *lab) createsFromASchedule(storagebench func(args ...string) (string, int)) {
	l.t.Helper()
	s := l.schedule("nightly", func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.Suspend = true
		s.Spec.Template.Metadata.Labels = map[string]string{"team": "storage"}
		s.Spec.Template.Spec.Targets[0].StorageClass.Name = "missing"
		s.Spec.Template.Spec.Baseline = &v1alpha1.Baseline{MaxRegression: "10%"}
	})
	if err := api.Create(l.ctx, s); err != nil {
		l.t.Fatal(err)
	}
	l.eventually("the schedule's last good run is known", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		s.Status.LatestQualified = &v1alpha1.RunReference{Benchmark: "nightly-7", Run: "g1-abc"}
		return api.Status().Update(l.ctx, s)
	})
	if out, code := storagebench("create", "now", "--from-schedule", "nightly"); code != 0 || !strings.Contains(out, "/now created") {
		l.t.Fatalf("create --from-schedule: exit code %d: %s", code, out)
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := api.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: "now"}, b); err != nil {
		l.t.Fatal(err)
	}
	if b.Labels["team"] != "storage" || b.Labels[v1alpha1.LabelSchedule] != "" || len(b.OwnerReferences) != 0 || b.Spec.Targets[0].StorageClass.Name != "missing" {
		l.t.Errorf("%+v", b)
	}
	if want := (v1alpha1.Baseline{From: "g1-abc", Benchmark: "nightly-7", MaxRegression: "10%"}); *b.Spec.Baseline != want {
		l.t.Errorf("its baseline is %+v, want %+v", *b.Spec.Baseline, want)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "other", "--from-schedule", "weekly"}, "list all with: storagebench get --schedules"},
		{[]string{"create", "other", "--from-schedule", "nightly", "--trials", "3"}, "--from-schedule and --trials"},
	} {
		if out, code := storagebench(c.args...); code != 2 || !strings.Contains(out, c.says) {
			l.t.Errorf("%v: exit code %d: %s", c.args, code, out)
		}
	}
}

//go:build alerts

package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/test/apiserver"
)

const files = "../../charts/storagebench/files/"

// unitTested are the alerts of failures that a healthy operator has none of; testdata/rules_test.yaml has samples.
var unitTested = []string{"StorageBenchReconcileErrors", "StorageBenchStoreErrors"}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// program runs one of the built programs until stop is called, or the test ends. Its log is in dir.
func program(t *testing.T, dir, name string, env []string, args ...string) (stop func()) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano())))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv("STORAGEBENCH_PROGRAMS"), name), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = append(os.Environ(), env...), log, log, dir
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (make test-alerts builds it)", err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = log.Close()
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			if text, err := os.ReadFile(log.Name()); err == nil {
				t.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
			}
		}
	})
	return stop
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// get decodes the JSON at an address.
func get(ctx context.Context, address string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", address, response.Status, body)
	}
	return json.Unmarshal(body, into)
}

// shortened are the chart's rules with durations of seconds, and the names of the alerts.
func shortened(t *testing.T) (text string, names []string) {
	t.Helper()
	rules, err := os.ReadFile(files + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`for: \d+[mh]`).ReplaceAllString(string(rules), "for: 1s")
	text = regexp.MustCompile(`\[\d+[mh]\]`).ReplaceAllString(text, "[40s]")
	for _, found := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return text, names
}

// expressions are the queries of the dashboard's panels by their titles, for all namespaces and benchmarks.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(files + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for i, p := range dashboard.Panels {
		p.Title = fmt.Sprintf("%s (%d)", p.Title, i)
		for _, target := range p.Targets {
			expr := regexp.MustCompile(`\$(namespace|benchmark|job)\b`).ReplaceAllString(target.Expr, ".*")
			out[p.Title] = append(out[p.Title], regexp.MustCompile(`\[\d+[mhd]\]`).ReplaceAllString(expr, "[40s]"))
		}
	}
	return out
}

// laboratory is what runs beside each other.
type laboratory struct {
	t                        *testing.T
	api                      client.Client
	dir                      string
	operator                 []string // arguments
	metrics                  string   // addresses
	prometheus, alertmanager string
}

func start(t *testing.T) *laboratory {
	t.Helper()
	dir := t.TempDir()
	server, err := apiserver.Run("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	l := &laboratory{t: t, api: api, dir: dir, metrics: freeAddress(t), prometheus: freeAddress(t), alertmanager: freeAddress(t)}
	for _, name := range []string{operatorNamespace, operatorNamespace + "-restore", "lab", "monitoring"} {
		l.must(api.Create(t.Context(), namespaceNamed(name)))
	}
	l.must(api.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "storagebench-store"},
		StringData: map[string]string{"accessKeyID": "a", "secretAccessKey": "b"},
	}))
	l.must(lead(t.Context(), api))
	l.must(api.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "node-node-a", Labels: map[string]string{"app.kubernetes.io/managed-by": "storagebench"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("lab/bad/u-2")},
	}))
	l.must(os.WriteFile(filepath.Join(dir, "kubeconfig"), server.KubeConfig, 0o600))
	certificate(t, dir)
	l.operator = []string{
		"--namespace=" + operatorNamespace, "--worker-image=storagebench:test", "--development",
		"--metrics-bind-address=" + l.metrics, "--metrics-cert-dir=" + dir, "--health-probe-bind-address=" + freeAddress(t),
	}
	l.token("prometheus", true)
	l.configure()
	return l
}

func (l *laboratory) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// token makes a ServiceAccount, with the ClusterRole of those who scrape or without, and writes its token to dir.
func (l *laboratory) token(name string, mayScrape bool) {
	l.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: name}}
	l.must(l.api.Create(l.t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	l.must(l.api.SubResource("token").Create(l.t.Context(), account, request))
	l.must(os.WriteFile(filepath.Join(l.dir, name+".token"), []byte(request.Status.Token), 0o600))
	if !mayScrape {
		return
	}
	roles, err := os.ReadFile("../../config/rbac/user_roles.yaml")
	l.must(err)
	for text := range strings.SplitSeq(string(roles), "\n---\n") {
		var role rbacv1.ClusterRole
		l.must(yaml.Unmarshal([]byte(text), &role))
		if role.Name == "storagebench-metrics-reader" {
			l.must(l.api.Create(l.t.Context(), &role))
		}
	}
	l.must(l.api.Create(l.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "storagebench-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "monitoring", Name: name}},
	}))
}

// configure writes what Prometheus and Alertmanager read, and starts both.
func (l *laboratory) configure() {
	l.t.Helper()
	rules, _ := shortened(l.t)
	l.must(os.WriteFile(filepath.Join(l.dir, "rules.yaml"), []byte(rules), 0o600))
	l.must(os.WriteFile(filepath.Join(l.dir, "alertmanager.yaml"), []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600))
	l.must(os.WriteFile(filepath.Join(l.dir, "prometheus.yaml"), fmt.Appendf(nil, `global: {scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 2s}
rule_files: [%[1]s/rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%[2]q]}]}]}
scrape_configs:
- job_name: storagebench
  scheme: https
  honor_labels: true
  authorization: {credentials_file: %[1]s/prometheus.token}
  tls_config: {ca_file: %[1]s/tls.crt, server_name: storagebench-manager-metrics.storagebench-system.svc}
  static_configs: [{targets: [%[3]q]}]
`, l.dir, l.alertmanager, l.metrics), 0o600))
	program(l.t, l.dir, "alertmanager", nil, "--config.file=alertmanager.yaml", "--storage.path="+l.dir+"/am", "--web.listen-address="+l.alertmanager, "--cluster.listen-address=")
	program(l.t, l.dir, "prometheus", nil, "--config.file=prometheus.yaml", "--storage.tsdb.path="+l.dir+"/tsdb", "--web.listen-address="+l.prometheus)
}

func (l *laboratory) run() (stop func()) {
	return program(l.t, l.dir, "manager", []string{"KUBECONFIG=" + filepath.Join(l.dir, "kubeconfig")}, l.operator...)
}

// firing are the names of the alerts that Alertmanager has.
func (l *laboratory) firing() (map[string]bool, error) {
	var alerts []struct{ Labels map[string]string }
	if err := get(l.t.Context(), "http://"+l.alertmanager+"/api/v2/alerts?active=true", &alerts); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, a := range alerts {
		out[a.Labels["alertname"]] = true
	}
	return out, nil
}

// query is how many series an expression has.
func (l *laboratory) query(expr string) (int, error) {
	var answer struct{ Data struct{ Result []any } }
	err := get(l.t.Context(), "http://"+l.prometheus+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
	return len(answer.Data.Result), err
}

// awaitPanels waits until each panel that is not in seen yet has data, or the time is over.
func (l *laboratory) awaitPanels(panels map[string][]string, seen map[string]bool, most time.Duration) {
	l.t.Helper()
	for deadline := time.Now().Add(most); len(seen) < len(panels) && time.Now().Before(deadline); time.Sleep(time.Second) {
		for title, exprs := range panels {
			full := true
			for _, expr := range exprs {
				n, err := l.query(expr)
				if err != nil {
					l.t.Fatalf("panel %q: %v", title, err)
				}
				full = full && n > 0
			}
			if full {
				seen[title] = true
			}
		}
	}
}

// status is what the operator answers to a scrape with that token.
func (l *laboratory) status(token string) (int, error) {
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "https://"+l.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		text, err := os.ReadFile(filepath.Join(l.dir, token+".token"))
		if err != nil {
			return 0, err
		}
		request.Header.Set("Authorization", "Bearer "+string(text))
	}
	response, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: trusting(l.t, l.dir)}}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestEachAlertFiresAndClearsAndEachPanelHasData(t *testing.T) {
	l := start(t)
	_, names := shortened(t)
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(unitTested, name) })
	has := func(what string, want func(map[string]bool) []string) {
		t.Helper()
		eventually(t, what, func() error {
			found, err := l.firing()
			if err == nil {
				if bad := want(found); len(bad) > 0 {
					err = fmt.Errorf("%v", bad)
				}
			}
			return err
		})
	}
	has("without an operator, StorageBenchAbsent does not fire", func(found map[string]bool) []string {
		if !found["StorageBenchAbsent"] {
			return slices.Collect(maps.Keys(found))
		}
		return nil
	})

	write(t, l.api, broken())
	write(t, l.api, crowd(3))
	stop := l.run()
	l.token("somebody", false)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "somebody": http.StatusForbidden, "prometheus": http.StatusOK} {
		eventually(t, "a scrape with the token of "+token, func() error {
			got, err := l.status(token)
			if err == nil && got != want {
				err = fmt.Errorf("status %d, want %d", got, want)
			}
			return err
		})
	}
	eventually(t, "the operator is not scraped", func() error {
		if n, err := l.query("storagebench_schedule_missed_total"); err != nil || n == 0 {
			return fmt.Errorf("%d series, %v", n, err)
		}
		return nil
	})
	// A missed time is an increase, once Prometheus has seen how many there were; it repeats until it was seen.
	fired, missed := map[string]bool{"StorageBenchAbsent": true}, 1
	eventually(t, "alerts that do not fire", func() error {
		missed++
		write(t, l.api, []string{schedule(missed, "Failed", "Confirmed")})
		found, err := l.firing()
		if err != nil {
			return err
		}
		maps.Copy(fired, found)
		if quiet := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fired[name] }); len(quiet) > 0 {
			return fmt.Errorf("%v", quiet)
		}
		return nil
	})
	panels, seen := expressions(t), map[string]bool{}
	l.awaitPanels(panels, seen, 5*time.Second)

	write(t, l.api, repaired())
	for i := range 3 {
		b := benchmarkObject(fmt.Sprint("crowd-", i))
		l.must(l.api.Delete(t.Context(), b))
	}
	has("alerts that do not end", func(found map[string]bool) []string { return slices.Sorted(maps.Keys(found)) })

	// Now it leads: its own work shows.
	stop()
	l.must(l.api.Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "storagebench-manager"}}))
	l.run()
	l.awaitPanels(panels, seen, 90*time.Second)
	for _, title := range slices.Sorted(maps.Keys(panels)) {
		if !seen[title] {
			t.Errorf("panel %q has no data: %v", title, panels[title])
		}
	}
	fmt.Printf("figures: %d alerts fired and cleared, %d panels returned data\n", len(names), len(seen))
}

//go:build integration

package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/controllers/metrics/access"
)

// tokenOf makes an account and returns a token of it.
func (l *lab) tokenOf(name string) string {
	l.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	if err := api.Create(l.ctx, account); err != nil {
		l.t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := api.SubResource("token").Create(l.ctx, account, request); err != nil {
		l.t.Fatal(err)
	}
	return request.Status.Token
}

func TestARealAPIServerSaysWhoReadsMetrics(t *testing.T) {
	l := newLab(t, 0)
	config := asOperator()
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := access.Filter(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") }))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: l.namespace + "-reader"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: l.namespace, Name: "prometheus"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := api.Create(l.ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	prometheus, somebody := l.tokenOf("prometheus"), l.tokenOf("somebody")
	status := func(method, token string) int {
		r := httptest.NewRequest(method, "/metrics", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	// The API server's authorizer sees a new binding a moment later, and a refusal is remembered.
	l.eventually("Prometheus reads metrics", func() error {
		if got := status("GET", prometheus); got != http.StatusOK {
			return fmt.Errorf("status %d, want 200", got)
		}
		return nil
	})
	for name, c := range map[string]struct {
		method, token string
		want          int
	}{
		"an account without the right": {"GET", somebody, 403},
		"a verb without the right":     {"POST", prometheus, 403},
		"a token that was changed":     {"GET", prometheus[:len(prometheus)-8] + "AAAAAAAA", 401},
		"no token of this cluster":     {"GET", "eyJhbGciOiJub25lIn0.e30.", 401},
	} {
		t.Run(name, func(t *testing.T) {
			if got := status(c.method, c.token); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}

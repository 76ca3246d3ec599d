//go:build integration

package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/test/apiserver"
	"storagebench.io/storagebench/test/wait"
)

const (
	operatorNamespace = "storagebench-system"
	restoreNamespace  = "storagebench-system-restore"
	plain             = "lab"            // a namespace without a Pod Security level
	privileged        = "lab-privileged" // one that is labelled for privileged Pods
	image             = "storagebench.io/storagebench-worker:0.3.0"

	operatorUser  = "system:serviceaccount:storagebench-system:storagebench-manager"
	tenantUser    = "tenant"
	finalizerUser = "finalizer"
	schedulerUser = "scheduler" // may make schedules, but no benchmarks
	collectorUser = "system:serviceaccount:kube-system:generic-garbage-collector"
)

var patience = wait.Patience{Every: 200 * time.Millisecond, AtMost: 30 * time.Second}

// api is the cluster's administrator; as has clients of the others.
var (
	apiURL *rest.Config
	api    client.Client
	as     = map[string]client.Client{}
)

func TestMain(m *testing.M) {
	code, err := suite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
		code = 1
	}
	os.Exit(code)
}

func suite(m *testing.M) (int, error) {
	var stop func()
	var err error
	if apiURL, stop, err = apiserver.Start("../../config/crd/bases"); err != nil {
		return 1, err
	}
	defer stop()
	scheme, err := controllers.Scheme()
	if err != nil {
		return 1, err
	}
	if api, err = client.New(apiURL, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	for _, user := range []string{operatorUser, tenantUser, finalizerUser, collectorUser, schedulerUser} {
		config := rest.CopyConfig(apiURL)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		if as[user], err = client.New(config, client.Options{Scheme: scheme}); err != nil {
			return 1, err
		}
	}
	if err := seed(context.Background()); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// seed makes the namespaces, NetworkPolicies and roles as they are shipped, and users beside the operator.
// Who is bound to edit has no more than that: an API server alone aggregates no roles, so
// storagebench-edit is bound by itself.
func seed(ctx context.Context) error {
	for _, name := range []string{plain, privileged} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == privileged {
			namespace.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
		}
		if err := api.Create(ctx, namespace); err != nil {
			return err
		}
	}
	for _, file := range []string{"manager/namespace.yaml", "manager/network_policies.yaml", "rbac/service_account.yaml", "rbac/role.yaml", "rbac/role_binding.yaml", "rbac/user_roles.yaml"} {
		if err := apply(ctx, file, nil); err != nil {
			return err
		}
	}
	benchmarks := []string{"storagebenchmarks"}
	roles := map[string][]rbacv1.PolicyRule{
		schedulerUser: {{APIGroups: []string{"storagebench.io"}, Resources: []string{"storagebenchmarkschedules"}, Verbs: []string{"get", "create", "update"}}},
		tenantUser: {
			{APIGroups: []string{"storagebench.io"}, Resources: []string{"storagebenchmarks", "storagebenchmarkschedules"}, Verbs: []string{"get", "create", "update", "patch", "delete"}},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"pods", "secrets", "configmaps", "persistentvolumeclaims"}, Verbs: []string{"*"}},
		},
		finalizerUser: {{APIGroups: []string{"storagebench.io"}, Resources: benchmarks, Verbs: []string{"get", "update", "patch", "finalize"}}},
		collectorUser: {{APIGroups: []string{"storagebench.io"}, Resources: benchmarks, Verbs: []string{"get", "update", "patch", "delete"}}},
	}
	for user, rules := range roles {
		name := "test-" + user[len(user)-6:]
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if err := api.Create(ctx, role); err != nil {
			return err
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if err := api.Create(ctx, binding); err != nil {
			return err
		}
	}
	return nil
}

// apply creates the objects of a file in config/, each changed by change if that is given.
func apply(ctx context.Context, file string, change func(*unstructured.Unstructured)) error {
	content, err := os.ReadFile("../../config/" + file)
	if err != nil {
		return err
	}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if change != nil {
			change(object)
		}
		if err := api.Create(ctx, object); err != nil {
			return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
}

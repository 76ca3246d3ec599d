//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
)

// asOperator is the API server as the operator's ServiceAccount sees it, with the roles of
// config/rbac and behind the policies of config/admission: what they forbid and the
// operator needs fails the tests here.
func asOperator() *rest.Config {
	config := rest.CopyConfig(apiURL)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":storagebench-manager",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return config
}

// secure creates those roles and policies, told of what the tests allow.
func secure(ctx context.Context) error {
	for _, file := range []string{"rbac/service_account.yaml", "rbac/role.yaml", "rbac/role_binding.yaml", "admission/policies.yaml"} {
		content, err := os.ReadFile("../../config/" + file)
		if err != nil {
			return err
		}
		for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if len(object.Object) == 0 { // a comment
				continue
			}
			tell(object)
			if err := api.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("%s: %s %s: %w", file, object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// tell sets in a policy what the chart's values set, and has the operator read Secrets of
// any name in its namespace, as resultStore.secretNames={*} does.
func tell(object *unstructured.Unstructured) {
	values := map[any]string{"images": `["storagebench:test"]`, "hostPaths": `["/tank"]`, "devices": `["^/dev/loop[^/]*$"]`}
	variables, _, _ := unstructured.NestedSlice(object.Object, "spec", "variables")
	for _, v := range variables {
		if value, ok := values[v.(map[string]any)["name"]]; ok {
			v.(map[string]any)["expression"] = value
		}
	}
	if len(variables) > 0 {
		_ = unstructured.SetNestedSlice(object.Object, variables, "spec", "variables")
	}
	rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
	for _, rule := range rules {
		delete(rule.(map[string]any), "resourceNames")
	}
	if len(rules) > 0 {
		_ = unstructured.SetNestedSlice(object.Object, rules, "rules")
	}
}

package controllers

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errReached = errors.New("the API server was asked")

// everywhere answers every read with errReached.
type everywhere struct{ client.Client }

func (everywhere) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errReached
}

func (everywhere) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errReached
}

func TestWhatIsOutsideOfTheOperatorsNamespacesIsNotThere(t *testing.T) {
	few := scopeOf(Options{Namespace: "own", RestoreNamespace: "restore", Namespaces: []string{"a", "b"}})
	for name, c := range map[string]struct {
		scope     scope
		namespace string
		reached   bool
	}{
		"all namespaces":              {scopeOf(Options{Namespace: "own", RestoreNamespace: "restore"}), "c", true},
		"one of the benchmarks'":      {few, "b", true},
		"the operator's":              {few, "own", true},
		"that of restores":            {few, "restore", true},
		"without a namespace, a node": {few, "", true},
		"one that was taken out":      {few, "c", false},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, reader := range map[string]client.Reader{"reader": c.scope.reader(everywhere{}), "client": c.scope.client(everywhere{})} {
				get := reader.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "x"}, &corev1.Pod{})
				list := reader.List(t.Context(), &corev1.PodList{}, client.InNamespace(c.namespace))
				if c.reached != errors.Is(get, errReached) || !c.reached && !apierrors.IsNotFound(get) {
					t.Errorf("%s: Get: %v", kind, get)
				}
				if c.reached != errors.Is(list, errReached) || !c.reached && list != nil {
					t.Errorf("%s: List: %v", kind, list)
				}
			}
		})
	}
}

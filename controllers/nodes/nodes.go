// Package nodes tells whether a node can be used now: whether it is Ready, since when it is
// not, and whether it still has the settings of an earlier benchmark.
//
// In: a node's name, and a reader of the cache. Out: a View of the node and of its NodeRestore.
// Changed is the predicate with which controllers watch nodes.
package nodes

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Ready reports whether the node's condition Ready is True.
func Ready(node *corev1.Node) bool {
	c := condition(node)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// View is what is known of a node.
type View struct {
	// UID is empty if there is no such node.
	UID   types.UID
	Ready bool
	// AwaySince is since when it has not been Ready; zero if it is, or is not there.
	AwaySince time.Time
	Labels    map[string]string
	// Record of settings that may have been changed, or nil.
	Record *v1alpha1.NodeRestore
}

// Look reads what is known of a node, from the reader's cache.
func Look(ctx context.Context, reader client.Reader, name string) (View, error) {
	v := View{}
	node := &corev1.Node{}
	switch err := reader.Get(ctx, types.NamespacedName{Name: name}, node); {
	case err == nil:
		v.UID, v.Ready, v.Labels = node.UID, Ready(node), node.Labels
		if c := condition(node); !v.Ready && c != nil {
			v.AwaySince = c.LastTransitionTime.Time
		}
	case !apierrors.IsNotFound(err):
		return v, err
	}
	record := &v1alpha1.NodeRestore{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, record)
	if err == nil {
		v.Record = record
	}
	return v, client.IgnoreNotFound(err)
}

// BeingRestored reports whether the node may still have the settings of an earlier benchmark,
// and so may not be used. A node that was deleted with them, and has come back, has them.
func (v View) BeingRestored() bool {
	return v.Record != nil && v.Record.Status.Phase != v1alpha1.RestoreAbandoned
}

// Changed passes an event if a node's readiness changed, or the node was created or deleted.
// It drops the others: a node writes its status every few minutes.
var Changed = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*corev1.Node)
		is, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok1 || !ok2 || Ready(was) != Ready(is) || was.UID != is.UID
	},
}

package controllers

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// livePage is how many objects of tenants are in memory whole: each may have 1.5 MiB.
	livePage = 8
	// maxLive is how many objects a list may have. The largest run has some hundred.
	maxLive = 4096
)

// liveReader reads from the API server. Of a list of objects that tenants may write, it reads a
// few at a time, and keeps of each what the cache would. Whoever sets a limit turns the pages itself.
type liveReader struct{ client.Reader }

// List lists objects, or fails if there are too many.
func (r liveReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	trim, what := trimOf(list)
	if in := (&client.ListOptions{}).ApplyOptions(options); trim == nil || in.Limit > 0 {
		return r.Reader.List(ctx, list, options...)
	}
	var all []runtime.Object
	next := ""
	for {
		page, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("%T is no list", list)
		}
		if err := r.Reader.List(ctx, page, append(slices.Clone(options), client.Limit(livePage), client.Continue(next))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		for _, item := range items {
			if _, err := trim(item); err != nil {
				return err
			}
		}
		all = append(all, items...)
		next = page.GetContinue()
		switch {
		case next == "":
			return meta.SetList(list, all)
		case len(all) >= maxLive:
			return fmt.Errorf("there are more than %d %s that may belong to a benchmark; delete those that nobody needs", maxLive, what)
		}
	}
}

// trimOf returns what is kept of the objects of a list, and what they are called; nil if no tenant writes them.
func trimOf(list client.ObjectList) (keep cache.TransformFunc, what string) {
	switch list.(type) {
	case *batchv1.JobList:
		return trimJob, "Jobs"
	case *corev1.PodList:
		return trimPod, "Pods"
	case *corev1.PersistentVolumeClaimList:
		return trimClaim, "PersistentVolumeClaims"
	case *corev1.EventList:
		return trimEvent, "events"
	}
	return nil, ""
}

func trimEvent(object any) (any, error) {
	if e, ok := object.(*corev1.Event); ok {
		*e = corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, CreationTimestamp: e.CreationTimestamp},
			InvolvedObject: corev1.ObjectReference{Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name},
			Reason:         e.Reason, Message: e.Message, LastTimestamp: e.LastTimestamp, EventTime: e.EventTime, Series: e.Series,
		}
	}
	return object, nil
}

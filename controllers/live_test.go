package controllers

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/internal/jobspec"
)

// pages is an API server with so many large Jobs or events.
type pages struct {
	client.Reader
	n, most int
	peak    uint64
}

func (p *pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	in := (&client.ListOptions{}).ApplyOptions(options)
	first := 0
	_, _ = fmt.Sscan(in.Continue, &first)
	last := p.n
	if in.Limit > 0 {
		last = min(p.n, first+int(in.Limit))
	}
	p.most = max(p.most, last-first)
	for i := first; i < last; i++ {
		o := metav1.ObjectMeta{
			Name: fmt.Sprintf("o%d", i), UID: "u", Labels: map[string]string{jobspec.LabelWorker: "w", "x": strings.Repeat("x", 1<<20)},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StorageBenchmark", UID: "b", Controller: new(true)}},
		}
		switch l := list.(type) {
		case *batchv1.JobList:
			l.Items = append(l.Items, batchv1.Job{ObjectMeta: o, Spec: batchv1.JobSpec{Suspend: new(true)}})
		case *corev1.EventList:
			l.Items = append(l.Items, corev1.Event{ObjectMeta: o, Reason: "FailedMount"})
		case *corev1.NodeList:
			l.Items = append(l.Items, corev1.Node{ObjectMeta: o})
		}
	}
	if last < p.n {
		list.SetContinue(fmt.Sprint(last))
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	p.peak = max(p.peak, m.HeapAlloc)
	return nil
}

func TestAListOfTenantsObjectsIsReadAFewAtATime(t *testing.T) {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, list := range map[string]client.ObjectList{"Jobs": &batchv1.JobList{}, "events": &corev1.EventList{}} {
		p := &pages{n: 203}
		if err := (liveReader{p}).List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if p.most > livePage || p.peak > before.HeapAlloc+4*livePage<<20 {
			t.Errorf("%s: %d at a time, %d MiB of memory", name, p.most, (p.peak-before.HeapAlloc)>>20)
		}
		switch l := list.(type) {
		case *batchv1.JobList:
			if j := l.Items[202]; len(l.Items) != 203 || j.Name != "o202" || j.Labels[jobspec.LabelWorker] != "w" || len(j.OwnerReferences) != 1 || !*j.Spec.Suspend {
				t.Errorf("%d Jobs, the last is %+v", len(l.Items), j)
			}
		case *corev1.EventList:
			if e := l.Items[202]; len(l.Items) != 203 || e.Reason != "FailedMount" {
				t.Errorf("%d events, the last is %+v", len(l.Items), e)
			}
		}
	}
}

func TestAListHasAnEnd(t *testing.T) {
	err := (liveReader{endless{}}).List(t.Context(), &batchv1.JobList{})
	if err == nil || !strings.Contains(err.Error(), "more than 4096") {
		t.Errorf("%v", err)
	}
	// Whoever turns the pages itself, and lists that no tenant writes, are served as they ask.
	for _, c := range []struct {
		list    client.ObjectList
		options []client.ListOption
		want    int
	}{{&batchv1.JobList{}, []client.ListOption{client.Limit(3)}, 3}, {&corev1.NodeList{}, nil, 20}} {
		p := &pages{n: 20}
		if err := (liveReader{p}).List(t.Context(), c.list, c.options...); err != nil || p.most != c.want {
			t.Errorf("%T: %d at a time, want %d (%v)", c.list, p.most, c.want, err)
		}
	}
}

// endless is an API server whose lists do not end.
type endless struct{ client.Reader }

func (endless) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	in := (&client.ListOptions{}).ApplyOptions(options)
	list.(*batchv1.JobList).Items = make([]batchv1.Job, in.Limit)
	list.SetContinue("more")
	return nil
}

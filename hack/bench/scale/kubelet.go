package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

// kubelets run the workers' Pods on KWOK's nodes: each Pod is bound to the node that it
// requests, gets its volumes, does a worker's work, and leaves its receipt as the
// termination message.
type kubelets struct {
	cluster *cluster
	// work is how long a worker takes.
	work time.Duration
	mu   sync.Mutex
	// pods that exist, by UID; their contexts end when the Pods are deleted
	pods map[types.UID]context.CancelFunc
	// ran counts how often a trial was executed, by its key in the store.
	ran map[string]int
	// finished counts workers that left a receipt.
	finished int
	wait     sync.WaitGroup
}

func newKubelets(c *cluster, work time.Duration) *kubelets {
	return &kubelets{cluster: c, work: work, pods: map[types.UID]context.CancelFunc{}, ran: map[string]int{}}
}

// run watches Pods until ctx ends.
func (k *kubelets) run(ctx context.Context) error {
	informer, err := k.cluster.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.see(ctx, o) },
		UpdateFunc: func(_, o any) { k.see(ctx, o) },
		DeleteFunc: func(o any) { k.forget(o) },
	})
	return err
}

// see starts a new Pod and ends one that is being deleted.
func (k *kubelets) see(ctx context.Context, o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Labels[jobspec.LabelManagedBy] != jobspec.ManagedBy {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	cancel, here := k.pods[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil && here:
		cancel() // what runs deletes it when it has ended
	case here || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
	default:
		ctx, cancel := context.WithCancel(ctx)
		k.pods[pod.UID] = cancel
		k.wait.Go(func() { k.runPod(ctx, pod) })
	}
}

func (k *kubelets) forget(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if cancel, here := k.pods[pod.UID]; here {
		cancel()
		delete(k.pods, pod.UID)
	}
}

func (k *kubelets) runPod(ctx context.Context, pod *corev1.Pod) {
	err := k.lifeOf(ctx, pod)
	if ctx.Err() != nil {
		// Deleted: a kubelet ends the containers and then removes the Pod.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = k.cluster.core.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		fmt.Fprintf(os.Stderr, "Pod %s/%s: %v\n", pod.Namespace, pod.Name, err)
	}
}

func (k *kubelets) lifeOf(ctx context.Context, pod *corev1.Pod) error {
	if err := k.bind(ctx, pod); err != nil {
		return err
	}
	plan, grant, err := k.mount(ctx, pod)
	if err != nil {
		return err
	}
	container := pod.Spec.Containers[0]
	begun := metav1.Now()
	if err := k.status(ctx, pod, corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &begun, ContainerStatuses: []corev1.ContainerStatus{{
		Name: container.Name, Image: container.Image, Ready: true, Started: new(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: begun}},
	}}}); err != nil {
		return err
	}
	receipt := trial.Receipt{Worker: argument(container.Args, "--worker")}
	w, err := newWorker(container.Args, plan, grant)
	if err == nil {
		w.ran = k.executed
		receipt, err = w.run(ctx, k.work)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	phase, code := corev1.PodSucceeded, int32(0)
	if err != nil {
		phase, code, receipt.Failure = corev1.PodFailed, 1, trial.AsFailure(err)
		fmt.Fprintf(os.Stderr, "worker %s of %s/%s: %v\n", receipt.Worker, pod.Namespace, pod.Name, err)
	}
	message, err := receipt.Encode()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.finished++
	k.mu.Unlock()
	return k.status(ctx, pod, corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name: container.Name, Image: container.Image,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Completed", Message: string(message), StartedAt: begun, FinishedAt: metav1.Now(),
		}},
	}}})
}

// executed counts a trial that was run, as opposed to one found in the store.
func (k *kubelets) executed(p *trial.Plan, worker, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ran[p.Keys().Trial(worker, id)]++
}

// bind binds the Pod to the node that its affinity names, as the scheduler would.
func (k *kubelets) bind(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.NodeName != "" {
		return nil
	}
	node := wantedNode(pod)
	if node == "" {
		return fmt.Errorf("its affinity names no node")
	}
	return k.cluster.core.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

// wantedNode returns the one node that a Pod's affinity allows, by name or host
// name.
func wantedNode(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, r := range append(term.MatchFields, term.MatchExpressions...) {
			if (r.Key == metav1.ObjectNameField || r.Key == corev1.LabelHostname) && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				return r.Values[0]
			}
		}
	}
	return ""
}

// mount reads the objects of the Pod's volumes. It waits for missing ones, as a
// kubelet does.
func (k *kubelets) mount(ctx context.Context, pod *corev1.Pod) (plan, grant []byte, err error) {
	core := k.cluster.core.CoreV1()
	err = await(ctx, 10*time.Minute, func() (bool, error) {
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.ConfigMap != nil:
				m, err := core.ConfigMaps(pod.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
				if err != nil {
					return false, waitFor(err)
				}
				for _, document := range m.Data {
					plan = []byte(document)
				}
			case v.Secret != nil:
				s, err := core.Secrets(pod.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
				if err != nil {
					return false, waitFor(err)
				}
				for _, document := range s.Data {
					grant = document
				}
			}
		}
		return true, nil
	})
	return plan, grant, err
}

// waitFor reports whether an object exists yet.
func waitFor(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// status writes a Pod's status, as its kubelet does.
func (k *kubelets) status(ctx context.Context, pod *corev1.Pod, s corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": s})
	if err != nil {
		return err
	}
	_, err = k.cluster.core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

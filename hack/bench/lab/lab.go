package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
)

const (
	// Class is the StorageClass that is measured.
	Class = "loop-ext4"
	// patience bounds every wait.
	patience = 10 * time.Minute
)

// Lab is a separate namespace in the cluster of the kubeconfig.
type Lab struct {
	API       client.Client
	Logs      kubernetes.Interface
	Store     *s3.Store
	Namespace string
	// Node that everything runs on.
	Node string
	// Poll is the interval between two checks of a condition. Each check costs this
	// machine some milliseconds in the API server, which can disturb a measurement.
	Poll time.Duration
}

// New connects to the cluster and creates a namespace whose name begins with
// prefix.
func New(ctx context.Context, prefix string) (*Lab, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 200
	scheme, err := controllers.Scheme()
	if err != nil {
		return nil, err
	}
	l := &Lab{Poll: 20 * time.Millisecond}
	if l.API, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if l.Logs, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	nodes := &corev1.NodeList{}
	if err := l.API.List(ctx, nodes); err != nil || len(nodes.Items) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d nodes", len(nodes.Items)))
	}
	l.Node = nodes.Items[0].Name
	if err := l.openStore(ctx); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	err = l.API.Create(ctx, ns)
	l.Namespace = ns.Name
	return l, err
}

// openStore opens MinIO at its Service's address.
func (l *Lab) openStore(ctx context.Context) error {
	service, secret := &corev1.Service{}, &corev1.Secret{}
	if err := l.API.Get(ctx, types.NamespacedName{Namespace: "minio", Name: "minio"}, service); err != nil {
		return err
	}
	if err := l.API.Get(ctx, types.NamespacedName{Namespace: "storagebench-system", Name: "storagebench-store"}, secret); err != nil {
		return err
	}
	var err error
	l.Store, err = s3.New(s3.Config{
		Endpoint: "http://" + service.Spec.ClusterIP + ":9000", Bucket: "storagebench",
		AccessKey: string(secret.Data["accessKeyID"]), SecretKey: string(secret.Data["secretAccessKey"]),
	})
	return err
}

// Close removes the namespace with everything in it, and waits until it is gone, so
// that no Pod uses a volume any more.
func (l *Lab) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	if err := l.API.Delete(ctx, ns); err != nil {
		return client.IgnoreNotFound(err)
	}
	return l.Wait(ctx, func() (bool, error) {
		err := l.API.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// Wait repeats check until it returns true.
func (l *Lab) Wait(ctx context.Context, check func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, l.Poll, patience, true, func(context.Context) (bool, error) { return check() })
}

// Benchmark returns a benchmark of one workload on one target, on the lab's node,
// with its results in the cluster's store.
func (l *Lab) Benchmark(name string, target v1alpha1.Target, workload v1alpha1.Workload, trials int32) *v1alpha1.StorageBenchmark {
	return &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{target},
			Placement: v1alpha1.Placement{NodeSelector: map[string]string{corev1.LabelHostname: l.Node}},
			Workloads: []v1alpha1.Workload{workload},
			Trials:    v1alpha1.Trials{Min: trials},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
		},
	}
}

// Run creates the benchmark, waits for its end and stores its last state in sb. It
// calls look at each check, and returns when it saw the end.
func (l *Lab) Run(ctx context.Context, sb *v1alpha1.StorageBenchmark, look func()) (ended time.Time, err error) {
	if err := l.API.Create(ctx, sb); err != nil {
		return ended, err
	}
	return ended, l.Wait(ctx, func() (bool, error) {
		if err := l.API.Get(ctx, client.ObjectKeyFromObject(sb), sb); err != nil {
			return false, err
		}
		if look != nil {
			look()
		}
		if ended = time.Now(); meta.IsStatusConditionTrue(sb.Status.Conditions, v1alpha1.ConditionReady) {
			return true, nil
		}
		if sb.Status.Run != nil && sb.Status.Run.FinishedAt != nil {
			return false, fmt.Errorf("the benchmark failed: %+v", sb.Status.Conditions)
		}
		return false, nil
	})
}

// Keys returns the keys of the results of a finished benchmark.
func Keys(sb *v1alpha1.StorageBenchmark) trial.Keys {
	return trial.Keys{Namespace: sb.Namespace, Name: sb.Name, Run: sb.Status.Run.ID}
}

// FirstWorker returns the name of the worker of a finished run's first row, or
// "".
func FirstWorker(sb *v1alpha1.StorageBenchmark) string {
	if len(sb.Status.Summary) == 0 {
		return ""
	}
	return sb.Status.Summary[0].Target + "." + sb.Status.Summary[0].Node
}

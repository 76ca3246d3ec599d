package controllers

import (
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/policy"
)

// Options are what the controllers are told from outside.
type Options struct {
	// Namespace of the operator.
	Namespace string
	Settings  jobspec.Settings
	Host      HostAccess
	Engines   plan.Checker
	// Tunables is the catalogue that policies speak of.
	Tunables policy.Catalogue
	Clock    clock.PassiveClock
}

// Scheme knows the kinds that the controllers use.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// Cache keeps of what a cluster has many of only the operator's own, so that its
// memory grows with benchmarks and not with the cluster. namespace is the operator's;
// benchmarks are looked for in those given, or in all if none is.
func Cache(namespace string, benchmarks []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{jobspec.LabelManagedBy: jobspec.ManagedBy})
	o := cache.Options{ByObject: map[client.Object]cache.ByObject{
		&batchv1.Job{}: {Label: ours},
		&corev1.Pod{}:  {Label: ours},
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{
			namespace: {LabelSelector: ours},
		}},
	}}
	if len(benchmarks) > 0 {
		o.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range benchmarks {
			o.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return o
}

// Setup registers both controllers with a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	buckets := &Buckets{Secrets: mgr.GetAPIReader(), Namespace: o.Namespace}
	stores := &ResultStoreReconciler{Client: mgr.GetClient(), Buckets: buckets, Clock: o.Clock}
	if err := stores.SetupWithManager(mgr); err != nil {
		return err
	}
	benchmarks := &StorageBenchmarkReconciler{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Namespace: o.Namespace,
		Buckets:   buckets,
		Engines:   o.Engines,
		Tunables:  o.Tunables,
		Settings:  o.Settings,
		Host:      o.Host,
		Events:    mgr.GetEventRecorder("storagebench"),
		Clock:     o.Clock,
	}
	return benchmarks.SetupWithManager(mgr)
}

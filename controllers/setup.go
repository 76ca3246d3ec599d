package controllers

import (
	"context"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/benchmark"
	"storagebench.io/storagebench/controllers/fence"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/metrics"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/schedule"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/store/inbox"
)

// Options are what the controllers are told from outside.
type Options struct {
	// Namespace of the operator.
	Namespace string
	// RestoreNamespace is where Jobs put the settings of nodes back.
	RestoreNamespace string
	// Namespaces whose benchmarks are run; none: all.
	Namespaces []string
	Settings   jobspec.Settings
	Limits     admission.Limits
	Engines    plan.Checker
	// ReceiverURL is how workers reach the operator's own store, which takes the results of
	// benchmarks without a ResultStore, https://HOST:PORT; empty: there is none. ReceiverAddress
	// is what it listens on.
	ReceiverURL, ReceiverAddress string
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

// watch starts the informers of the kinds that wake no controller, and of those that metrics are
// computed from: a replica that does not lead starts no controller, and reports them all the same.
func watch(ctx context.Context, mgr ctrl.Manager) error {
	for _, kind := range []client.Object{
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{},
		&v1alpha1.StorageBenchmark{}, &v1alpha1.StorageBenchmarkSchedule{}, &v1alpha1.NodeRestore{}, &v1alpha1.ResultStore{}, &coordinationv1.Lease{},
	} {
		if _, err := mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return nil
}

// Setup registers the controllers with a manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	for _, index := range []func(context.Context, client.FieldIndexer) error{leases.Index, restore.Index, benchmark.Index, schedule.Index} {
		if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
	}
	if err := action.Register(); err != nil {
		return err
	}
	if err := stores.Register(); err != nil {
		return err
	}
	if err := metrics.Register(mgr.GetCache()); err != nil {
		return err
	}
	// Kinds that wake no controller need an informer too, or they could not be read.
	if err := watch(ctx, mgr); err != nil {
		return err
	}
	if err := mgr.Add(&fence.Check{Client: mgr.GetClient(), Namespace: o.RestoreNamespace}); err != nil {
		return err
	}
	c, live := scopeOf(o).client(mgr.GetClient()), scopeOf(o).reader(liveReader{mgr.GetAPIReader()})
	o.Settings.HostPaths = o.Limits.Host.Paths
	buckets := &stores.Buckets{Secrets: live, Namespace: o.Namespace}
	o.Limits.NoInbox = o.ReceiverURL == ""
	if !o.Limits.NoInbox {
		buckets.Inbox = &inbox.Inbox{
			URL: strings.TrimSuffix(o.ReceiverURL, "/"), Now: o.Clock.Now,
			Identity: stores.Identity(live, c, o.Namespace, o.ReceiverURL),
			Backing:  &stores.Keeper{Client: c, Live: live, Namespace: o.Namespace},
		}
		if err := mgr.Add(&stores.Receiver{Inbox: buckets.Inbox, Address: o.ReceiverAddress, Live: live}); err != nil {
			return err
		}
	}
	resultStores := &stores.Reconciler{Client: c, Buckets: buckets, Clock: o.Clock}
	if err := resultStores.SetupWithManager(mgr); err != nil {
		return err
	}
	records := restore.Records{Client: c, Live: live, Settings: o.Settings, Namespace: o.RestoreNamespace, Clock: o.Clock}
	restores := &restore.Reconciler{Records: records}
	if err := restores.SetupWithManager(mgr); err != nil {
		return err
	}
	schedules := &schedule.Reconciler{Client: c, Live: live, Events: mgr.GetEventRecorder("storagebench"), Clock: o.Clock}
	if err := schedules.SetupWithManager(mgr); err != nil {
		return err
	}
	benchmarks := &benchmark.Reconciler{
		Client:  c,
		Live:    live,
		Leases:  &leases.Leases{Client: c, Namespace: o.Namespace, Clock: o.Clock},
		Workers: &workers.Workers{Client: c, Live: live, Settings: o.Settings, Records: &records, Clock: o.Clock},
		Records: &records,
		Results: &results.Results{Buckets: buckets, Seals: &stores.Seals{Live: live, Writer: c, Namespace: o.Namespace}, Clock: o.Clock},
		Limits:  o.Limits,
		Rules:   admission.Rules{Engines: o.Engines, Tunables: o.Tunables},
		Events:  mgr.GetEventRecorder("storagebench"),
		Clock:   o.Clock,
	}
	return benchmarks.SetupWithManager(mgr)
}

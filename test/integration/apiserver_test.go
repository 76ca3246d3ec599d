//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/controllers/benchmark"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/apiserver"
)

// apiServer is an API server of its own, with the operator's cache, in which no controller
// runs by itself: each pass is made by a test.
type apiServer struct {
	config *rest.Config
	scheme *runtime.Scheme
	api    client.Client
	cache  cache.Cache
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	config, stop, err := apiserver.Start("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	th := &apiServer{config: config}
	th.config.QPS = -1
	if th.scheme, err = controllers.Scheme(); err != nil {
		t.Fatal(err)
	}
	if th.api, err = client.New(config, client.Options{Scheme: th.scheme}); err != nil {
		t.Fatal(err)
	}
	options := controllers.Cache(controllers.Options{Namespace: operatorNamespace, RestoreNamespace: restoreNamespace})
	options.Scheme = th.scheme
	if th.cache, err = cache.New(config, options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	t.Cleanup(func() { cancel(); <-ended })
	for _, index := range []func(context.Context, client.FieldIndexer) error{leases.Index, restore.Index, benchmark.Index} {
		if err := index(ctx, th.cache); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []client.Object{
		&v1alpha1.StorageBenchmark{}, &v1alpha1.ResultStore{}, &v1alpha1.TunablePolicy{}, &v1alpha1.NodeRestore{},
		&corev1.Node{}, &corev1.Namespace{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{},
		&batchv1.Job{}, &storagev1.StorageClass{}, &coordinationv1.Lease{},
	} {
		if _, err := th.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
	}
	go func() { ended <- th.cache.Start(ctx) }()
	if !th.cache.WaitForCacheSync(ctx) {
		t.Fatal("the cache was not filled")
	}
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: restoreNamespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "store"}, StringData: map[string]string{"accessKeyID": accessKey, "secretAccessKey": secretKey}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: stores.ReceiverSecret}}, // as the chart makes it
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/none"},
		&v1alpha1.TunablePolicy{ObjectMeta: metav1.ObjectMeta{Name: "queues"}, Spec: v1alpha1.TunablePolicySpec{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tuning": "permitted"}},
			Devices:           []string{"loop*"}, Tunables: []v1alpha1.PermittedTunable{{Name: "block.queue.*"}},
		}},
	} {
		if err := th.api.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	patience.For(t, "the cache has the StorageClass", func() error {
		return th.cache.Get(ctx, types.NamespacedName{Name: "fast"}, &storagev1.StorageClass{})
	})
	return th
}

// caughtUp waits until the cache has all that the API server has, if the stage wrote anything since it
// had: nobody else writes to a stage's objects, and to list them all costs more than a pass.
func (s *stage) caughtUp() {
	s.t.Helper()
	written := s.written.Load()
	if written == s.arrived {
		return
	}
	patience.For(s.t, "the cache catches up", func() error {
		for _, c := range []struct {
			list    client.ObjectList
			options []client.ListOption
		}{
			{&v1alpha1.StorageBenchmarkList{}, []client.ListOption{client.InNamespace(s.namespace)}},
			{&batchv1.JobList{}, []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}}},
			{&corev1.PodList{}, []client.ListOption{client.InNamespace(s.namespace)}},
			{&corev1.PersistentVolumeClaimList{}, []client.ListOption{client.InNamespace(s.namespace)}},
			{&batchv1.JobList{}, []client.ListOption{client.InNamespace(restoreNamespace)}},
			{&coordinationv1.LeaseList{}, []client.ListOption{client.InNamespace(operatorNamespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}}},
			{&v1alpha1.NodeRestoreList{}, nil}, {&v1alpha1.ResultStoreList{}, nil}, {&v1alpha1.TunablePolicyList{}, nil},
			{&corev1.NodeList{}, nil}, {&corev1.NamespaceList{}, nil},
		} {
			is, err := versions(s.ctx, s.api, c.list, c.options)
			if err != nil {
				return err
			}
			has, err := versions(s.ctx, s.cache, c.list, c.options)
			if err != nil {
				return err
			}
			for name, version := range is {
				// Other stages go on meanwhile: only what has this one's name counts.
				if has[name] != version && s.owns(name) {
					return fmt.Errorf("%s has version %q, and the cache has %q", name, version, has[name])
				}
			}
			for name := range has {
				if _, ok := is[name]; !ok && s.owns(name) {
					return fmt.Errorf("the cache still has %s", name)
				}
			}
		}
		return nil
	})
	s.arrived = written
}

// versions of the objects of a list, by what identifies them and tells whose they are.
func versions(ctx context.Context, reader client.Reader, list client.ObjectList, options []client.ListOption) (map[string]string, error) {
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, err
	}
	all := map[string]string{}
	err := meta.EachListItem(list, func(o runtimeObject) error {
		object := o.(client.Object)
		owner := ""
		if job, ok := o.(*batchv1.Job); ok && object.GetNamespace() == restoreNamespace && len(job.OwnerReferences) > 0 {
			owner = job.OwnerReferences[0].Name // the node, whose name begins with the stage's
		}
		all[fmt.Sprintf("%T %s/%s %s", o, object.GetNamespace(), object.GetName(), owner)] = object.GetResourceVersion()
		return nil
	})
	return all, err
}

func (s *stage) owns(name string) bool { return s.alone || strings.Contains(name, s.namespace) }

package admission

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/plan"
)

// Limits are what the operator allows at all, whatever a spec asks for.
type Limits struct {
	// Timeout of a run; zero: no limit.
	Timeout time.Duration
	// Nodes that benchmarks may use; nil: every node.
	Nodes labels.Selector
	// Host says which paths of nodes may be targets.
	Host HostAccess
	// WorkloadMemory is how many bytes the tools of a workload may allocate; 0: the planner's
	// default.
	WorkloadMemory uint64
	// NoInbox: the operator has no store of its own, so every benchmark needs a ResultStore.
	NoInbox bool
}

// Volume is a claim of the user's, and the volume it is bound to.
type Volume struct {
	Claim  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume
}

// Facts are all that the checks look at.
type Facts struct {
	Benchmark *v1alpha1.StorageBenchmark
	Limits    Limits
	Namespace *corev1.Namespace
	// Store is nil if there is none of the name; OtherStores are then the names of those that
	// take results of the namespace. It can be the operator's own.
	Store       *v1alpha1.ResultStore
	OtherStores []string
	// Classes and Claims by name; nil for one that does not exist. If a class does not,
	// OtherClasses are the names of those that do.
	Classes      map[string]*storagev1.StorageClass
	OtherClasses []string
	Claims       map[string]*Volume
	// Nodes that have the labels of the placement.
	Nodes    []corev1.Node
	Policies []v1alpha1.TunablePolicy
}

// Gather reads the facts, all from the reader's cache but the claims, which are the tenants': there may be any number
// of them, and only those are read that a spec names. They come from live.
func Gather(ctx context.Context, reader, live client.Reader, limits Limits, b *v1alpha1.StorageBenchmark) (Facts, error) {
	f := Facts{
		Benchmark: b, Limits: limits, Namespace: &corev1.Namespace{},
		Classes: map[string]*storagev1.StorageClass{}, Claims: map[string]*Volume{},
	}
	if err := reader.Get(ctx, types.NamespacedName{Name: b.Namespace}, f.Namespace); err != nil {
		return f, err
	}
	if err := f.gatherStore(ctx, reader); err != nil {
		return f, err
	}
	for _, target := range b.Spec.Targets {
		if err := f.gatherTarget(ctx, reader, live, target); err != nil {
			return f, err
		}
	}
	nodes := &corev1.NodeList{}
	if err := reader.List(ctx, nodes, client.MatchingLabels(b.Spec.Placement.NodeSelector)); err != nil {
		return f, err
	}
	f.Nodes = nodes.Items
	if slices.ContainsFunc(plan.Variants(b.Spec), func(v v1alpha1.Variant) bool { return len(v.Tunables) > 0 }) {
		policies := &v1alpha1.TunablePolicyList{}
		if err := reader.List(ctx, policies); err != nil {
			return f, err
		}
		f.Policies = policies.Items
	}
	return f, nil
}

func (f *Facts) gatherTarget(ctx context.Context, reader, live client.Reader, target v1alpha1.Target) error {
	switch {
	case target.StorageClass != nil:
		class := &storagev1.StorageClass{}
		err := reader.Get(ctx, types.NamespacedName{Name: target.StorageClass.Name}, class)
		if apierrors.IsNotFound(err) {
			return f.gatherOtherClasses(ctx, reader)
		}
		f.Classes[target.StorageClass.Name] = class
		return err
	case target.PersistentVolumeClaim != nil:
		claim := &corev1.PersistentVolumeClaim{}
		err := live.Get(ctx, types.NamespacedName{Namespace: f.Benchmark.Namespace, Name: target.PersistentVolumeClaim.ClaimName}, claim)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		v := &Volume{Claim: claim}
		f.Claims[claim.Name] = v
		if claim.Spec.VolumeName == "" {
			return nil
		}
		volume := &corev1.PersistentVolume{}
		if err := reader.Get(ctx, types.NamespacedName{Name: claim.Spec.VolumeName}, volume); err != nil {
			return client.IgnoreNotFound(err)
		}
		v.Volume = volume
	}
	return nil
}

// gatherStore finds the store of a run that begins now.
func (f *Facts) gatherStore(ctx context.Context, reader client.Reader) error {
	name := stores.Default
	if f.Benchmark.Spec.Results != nil {
		name = f.Benchmark.Spec.Results.StoreRef.Name
	}
	rs := &v1alpha1.ResultStore{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, rs)
	switch asked := f.Benchmark.Spec.Results != nil; {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && (asked || takesNamespace(rs, f.Namespace)):
		f.Store = rs
	case asked:
		return f.gatherOtherStores(ctx, reader)
	default:
		f.Store = stores.Internal()
	}
	return nil
}

func (f *Facts) gatherOtherStores(ctx context.Context, reader client.Reader) error {
	stores := &v1alpha1.ResultStoreList{}
	if err := reader.List(ctx, stores); err != nil {
		return err
	}
	for i := range stores.Items {
		if takesNamespace(&stores.Items[i], f.Namespace) {
			f.OtherStores = append(f.OtherStores, stores.Items[i].Name)
		}
	}
	slices.Sort(f.OtherStores)
	return nil
}

func (f *Facts) gatherOtherClasses(ctx context.Context, reader client.Reader) error {
	classes := &storagev1.StorageClassList{}
	if err := reader.List(ctx, classes); err != nil {
		return err
	}
	f.OtherClasses = nil
	for _, class := range classes.Items {
		f.OtherClasses = append(f.OtherClasses, class.Name)
	}
	slices.Sort(f.OtherClasses)
	return nil
}

// Package stores opens ResultStores and keeps their condition Available up to date.
//
// In: a ResultStore and its Secret. Out: a Bucket (buckets.go), which counts its errors, and the
// condition (controller.go). A benchmark without a ResultStore has one too: internal.go stands for it,
// receiver.go takes what its workers upload, and keeper.go keeps that in ConfigMaps.
// turns.go bounds how many benchmarks use stores at a time, so that a slow store holds up no others.
package stores

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/inbox"
	"storagebench.io/storagebench/internal/store/s3"
)

// Keys of the Secret that a ResultStore names.
const (
	accessKeyID     = "accessKeyID"
	secretAccessKey = "secretAccessKey"
)

// Errors of a store's Secret.
var (
	// errSecret says that it is missing or incomplete.
	errSecret = errors.New("the Secret cannot be used")
	// errSecretForbidden says that the operator may not read it, whether it is there or not.
	errSecretForbidden = errors.New("the operator may not read the Secret")
	// errNoInbox says that the operator has no store of its own.
	errNoInbox = errors.New("the operator has no store of its own")
)

// Bucket is what the controllers need of a result store.
type Bucket interface {
	store.Store
	store.Signer
	// Check writes, reads and deletes an object.
	Check(ctx context.Context) error
}

// Buckets opens ResultStores. It keeps one client for each, so that connections
// are reused, until the store's spec or its Secret changes.
type Buckets struct {
	// Secrets reads without a cache: the operator may get Secrets by name in its
	// own namespace, and cannot list them.
	Secrets   client.Reader
	Namespace string
	// Inbox is the operator's own store; nil if it has none.
	Inbox *inbox.Inbox

	mu   sync.Mutex
	open map[string]openBucket // by the store's name
}

type openBucket struct {
	uid        types.UID
	generation int64
	secret     string
	bucket     Bucket
}

// Open returns the store's bucket. It does not connect, and reads the Secret only if it
// has not been read for this spec: Refresh, which the store's own controller calls from
// time to time, notices one that was changed. If the pass has no turn at the store, its error is ErrBusy.
func (b *Buckets) Open(ctx context.Context, rs *v1alpha1.ResultStore) (Bucket, error) {
	if IsInternal(rs) {
		if b.Inbox == nil {
			return nil, fmt.Errorf("%w: the operator runs without --receiver-url", errNoInbox)
		}
		return b.Inbox, nil
	}
	if err := takeTurn(ctx, rs.Name); err != nil {
		return nil, err
	}
	b.mu.Lock()
	o, ok := b.open[rs.Name]
	b.mu.Unlock()
	if ok && o.uid == rs.UID && o.generation == rs.Generation {
		return o.bucket, nil
	}
	return b.Refresh(ctx, rs)
}

// Refresh reads the store's Secret, and returns a bucket with what stands in it now.
func (b *Buckets) Refresh(ctx context.Context, rs *v1alpha1.ResultStore) (Bucket, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: b.Namespace, Name: rs.Spec.SecretRef.Name}
	switch err := b.Secrets.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		b.Forget(rs.Name)
		return nil, fmt.Errorf("%w: there is no Secret %s in namespace %s", errSecret, key.Name, key.Namespace)
	case apierrors.IsForbidden(err):
		b.Forget(rs.Name)
		return nil, fmt.Errorf("%w %s in namespace %s", errSecretForbidden, key.Name, key.Namespace)
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	for _, name := range []string{accessKeyID, secretAccessKey} {
		if len(secret.Data[name]) == 0 {
			b.Forget(rs.Name)
			return nil, fmt.Errorf("%w: Secret %s has no key %s", errSecret, key, name)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	version := fmt.Sprintf("%s/%s", secret.UID, secret.ResourceVersion)
	if o, ok := b.open[rs.Name]; ok && o.uid == rs.UID && o.generation == rs.Generation && o.secret == version {
		return o.bucket, nil
	}
	opened, err := s3.New(s3.Config{
		Endpoint:  rs.Spec.Endpoint,
		Bucket:    rs.Spec.Bucket,
		Prefix:    rs.Spec.Prefix,
		Region:    rs.Spec.Region,
		AccessKey: string(secret.Data[accessKeyID]),
		SecretKey: string(secret.Data[secretAccessKey]),
		CABundle:  rs.Spec.CABundle,
	})
	if err != nil {
		return nil, err
	}
	bucket := counted{opened, rs.Name}
	if b.open == nil {
		b.open = map[string]openBucket{}
	}
	b.open[rs.Name] = openBucket{uid: rs.UID, generation: rs.Generation, secret: version, bucket: bucket}
	return bucket, nil
}

// Gone drops what there is of a store that was deleted: its client, and the count of its errors.
func (b *Buckets) Gone(name string) {
	b.Forget(name)
	failures.DeletePartialMatch(prometheus.Labels{"store": name})
}

// Forget drops the client of a store.
func (b *Buckets) Forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, name)
}

// Trouble gives an error of a store as a condition's reason, and a message
// that names the field and the remedy.
func Trouble(rs *v1alpha1.ResultStore, err error) (why, message string) {
	spec := rs.Spec
	switch {
	case errors.Is(err, errSecret):
		return reason.SecretNotFound, fmt.Sprintf("spec.secretRef.name: %v; create it with the keys %s and %s", err, accessKeyID, secretAccessKey)
	case errors.Is(err, errSecretForbidden):
		return reason.SecretNotFound, fmt.Sprintf("spec.secretRef.name: %v; add %s to the chart's value resultStore.secretNames, or use a Secret that is listed there", err, spec.SecretRef.Name)
	case errors.Is(err, store.ErrNoBucket):
		return reason.BucketNotFound, fmt.Sprintf("spec.bucket: %s has no bucket %q; create it or correct the name", spec.Endpoint, spec.Bucket)
	case errors.Is(err, store.ErrCredentials):
		return reason.InvalidCredentials, fmt.Sprintf("spec.secretRef: %s does not accept the access key in Secret %s; correct %s and %s", spec.Endpoint, spec.SecretRef.Name, accessKeyID, secretAccessKey)
	case errors.Is(err, store.ErrDenied):
		return reason.AccessDenied, fmt.Sprintf("spec.secretRef: the access key in Secret %s may not write to bucket %q; allow it s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket", spec.SecretRef.Name, spec.Bucket)
	case errors.Is(err, store.ErrTLS):
		return reason.TLSFailed, fmt.Sprintf("spec.caBundle: the certificate of %s is not trusted (%v); give the PEM of its authority", spec.Endpoint, err)
	case errors.Is(err, store.ErrUnreachable):
		return reason.EndpointUnreachable, fmt.Sprintf("spec.endpoint: %v; correct the URL or start the server", err)
	default:
		return reason.StoreError, fmt.Sprintf("spec.endpoint: %v", err)
	}
}

package controllers

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scope is the namespaces that the operator may look into; nil: all.
//
// A Lease or the record of a node can name a benchmark of a namespace that was taken out of
// the operator's since. Neither the cache nor the API server answers there, so the node would
// wait for ever. To the operator, what is in such a namespace is not there.
type scope []string

// scopeOf are the namespaces of benchmarks, and the operator's own.
func scopeOf(o Options) scope {
	if len(o.Namespaces) == 0 {
		return nil
	}
	return append(scope{o.Namespace, o.RestoreNamespace}, o.Namespaces...)
}

// has reports whether a namespace is within; what has no namespace is.
func (s scope) has(namespace string) bool {
	return s == nil || namespace == "" || slices.Contains(s, namespace)
}

// reader reads within the scope.
func (s scope) reader(inner client.Reader) client.Reader { return scopedReader{inner, s} }

// client reads within the scope, and writes.
func (s scope) client(inner client.Client) client.Client {
	return scopedClient{inner, scopedReader{inner, s}}
}

type scopedReader struct {
	inner client.Reader
	scope scope
}

// Get gets an object, or the error that it is not found.
func (r scopedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !r.scope.has(key.Namespace) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.String())
	}
	return r.inner.Get(ctx, key, object, options...)
}

// List lists objects, or none.
func (r scopedReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if in := (&client.ListOptions{}).ApplyOptions(options); !r.scope.has(in.Namespace) {
		return nil
	}
	return r.inner.List(ctx, list, options...)
}

type scopedClient struct {
	client.Client
	reader scopedReader
}

// Get is scopedReader's.
func (c scopedClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

// List is scopedReader's.
func (c scopedClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}

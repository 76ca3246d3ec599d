package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

const (
	storePrefix = "scale"
	storeName   = "default"
	// secretName is the Secret that the operator's role lets it read.
	secretName = "storagebench-store"
	className  = "fast"
	// labelRack tells groups of nodes apart, for benchmarks of many nodes.
	labelRack = "scale.storagebench.io/rack"
	// tenants are namespaces of benchmarks.
	tenants = 10
)

func tenant(i int) string { return fmt.Sprintf("tenant-%d", i%tenants) }

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// seed creates what an operator needs in its cluster: namespaces, rights, a store, a
// StorageClass, nodes, and namespaces of tenants.
func (c *cluster) seed(ctx context.Context, nodes int) error {
	objects := []client.Object{
		namespace(operatorNamespace, nil),
		namespace(operatorNamespace+"-restore", map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}),
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: secretName},
			StringData: map[string]string{"accessKeyID": accessKey, "secretAccessKey": secretKey},
		},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: className}, Provisioner: "example.com/none"},
		&v1alpha1.ResultStore{
			ObjectMeta: metav1.ObjectMeta{Name: storeName},
			Spec: v1alpha1.ResultStoreSpec{
				Endpoint: c.endpoint, Bucket: bucketName, Prefix: storePrefix, Region: "us-east-1",
				SecretRef: v1alpha1.SecretReference{Name: secretName},
			},
		},
	}
	for i := range tenants {
		objects = append(objects, namespace(tenant(i), nil))
	}
	for i := range nodes {
		objects = append(objects, node(i, nodes))
	}
	for _, o := range objects {
		if err := c.api.Create(ctx, o); err != nil {
			return err
		}
	}
	// The roles and admission policies are those of the chart.
	for _, file := range []string{"config/rbac/role.yaml", "config/rbac/role_binding.yaml", policies} {
		if err := c.apply(ctx, file); err != nil {
			return err
		}
	}
	return c.awaitNodes(ctx, nodes)
}

// policies are the admission policies that fence the operator.
const policies = "config/admission/policies.yaml"

var policyImage = regexp.MustCompile(`'\["([^"]+)"\]'\s+name: images\n`)

// allowedImage returns the only image that the policies allow in the operator's
// Jobs.
func allowedImage(manifest []byte) (string, error) {
	found := policyImage.FindSubmatch(manifest)
	if found == nil {
		return "", fmt.Errorf("%s: expected a variable named images that lists exactly one image", policies)
	}
	return string(found[1]), nil
}

func node(i, nodes int) *corev1.Node {
	// As many racks as there can be of a hundred nodes, and at least one.
	rack := i % max(1, nodes/mostNodes)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName(i),
		Labels: map[string]string{
			corev1.LabelHostname: nodeName(i), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			labelRack: fmt.Sprint(rack),
		},
	}}
}

func (c *cluster) awaitNodes(ctx context.Context, want int) error {
	return await(ctx, 5*time.Minute, func() (bool, error) {
		list := &corev1.NodeList{}
		if err := errors.Join(c.alive(), c.api.List(ctx, list)); err != nil {
			return false, err
		}
		ready := 0
		for i := range list.Items {
			for _, condition := range list.Items[i].Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return ready == want, nil
	})
}

// awaitStore waits until the operator has found the store available.
func (c *cluster) awaitStore(ctx context.Context) error {
	return await(ctx, time.Minute, func() (bool, error) {
		store := &v1alpha1.ResultStore{}
		if err := c.api.Get(ctx, client.ObjectKey{Name: storeName}, store); err != nil {
			return false, err
		}
		return meta.IsStatusConditionTrue(store.Status.Conditions, v1alpha1.ConditionAvailable), c.alive()
	})
}

// decode reads the documents of a manifest.
func decode(r io.Reader) (objects []client.Object, err error) {
	documents := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/internal/store/s3"
)

// OperatorNamespace is where hack/deploy installs the operator.
const OperatorNamespace = "storagebench-system"

// Connection is to a cluster, by whoever the kubeconfig says.
type Connection struct {
	Config *rest.Config
	Scheme *runtime.Scheme
	API    client.Client
}

// Connect connects to the cluster. Many tests ask at the same time, so there is no limit of
// requests.
func Connect() (c Connection, err error) {
	ctrl.SetLogger(zap.New())
	if c.Config, err = ctrl.GetConfig(); err != nil {
		return c, err
	}
	c.Config.QPS = -1
	if c.Scheme, err = controllers.Scheme(); err != nil {
		return c, err
	}
	c.API, err = client.New(c.Config, client.Options{Scheme: c.Scheme})
	return c, err
}

// Bucket opens MinIO at its Service's address, which this machine reaches, with the operator's
// rights.
func Bucket(ctx context.Context, api client.Client) (*s3.Store, error) {
	service, secret := &corev1.Service{}, &corev1.Secret{}
	if err := api.Get(ctx, types.NamespacedName{Namespace: "minio", Name: "minio"}, service); err != nil {
		return nil, err
	}
	if err := api.Get(ctx, types.NamespacedName{Namespace: OperatorNamespace, Name: "storagebench-store"}, secret); err != nil {
		return nil, err
	}
	return s3.New(s3.Config{
		Endpoint: "http://" + service.Spec.ClusterIP + ":9000", Bucket: "storagebench",
		AccessKey: string(secret.Data["accessKeyID"]), SecretKey: string(secret.Data["secretAccessKey"]),
	})
}

// WorkerImage is the image of the workers that the operator in this Pod starts, which has a
// shell and Debian's programs. The operator's own image has neither.
func WorkerImage(operator corev1.PodSpec) (string, error) {
	const flag = "--worker-image="
	for _, arg := range operator.Containers[0].Args {
		if image, ok := strings.CutPrefix(arg, flag); ok {
			return image, nil
		}
	}
	return "", fmt.Errorf("the operator has no argument %s: %v", flag, operator.Containers[0].Args)
}

// Ready reports whether a node is.
func Ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Words are what a benchmark says.
func Words(b *v1alpha1.StorageBenchmark) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason + ": " + c.Message
	}
	return "it says nothing"
}

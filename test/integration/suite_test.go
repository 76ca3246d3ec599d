//go:build integration

package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload/engines"
	"storagebench.io/storagebench/test/apiserver"
)

// noResults is the label of namespaces of which the default ResultStore takes nothing.
const noResults = "no-results"

const (
	operatorNamespace = "storagebench-system"
	restoreNamespace  = "storagebench-system-restore"
	accessKey         = "storagebench-test"
	secretKey         = "storagebench-test-secret"
	bucketName        = "results"
)

// What every test uses; made once in TestMain.
var (
	api      client.Client
	bucket   *s3.Store
	endpoint string
	receiver string // address of the operator's own store
	apiURL   *rest.Config
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(logFile())))
	code, err := suite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// logFile keeps the controllers' log out of the tests' output, and where it can be read.
func logFile() *os.File {
	f, err := os.Create(filepath.Join(os.TempDir(), "storagebench-integration.log"))
	if err != nil {
		return os.Stderr
	}
	return f
}

func suite(m *testing.M) (int, error) {
	stopMinIO, err := startMinIO()
	if err != nil {
		return 1, err
	}
	defer stopMinIO()
	var stopServer func()
	if apiURL, stopServer, err = apiserver.Start("../../config/crd/bases"); err != nil {
		return 1, err
	}
	defer stopServer()
	scheme, err := controllers.Scheme()
	if err != nil {
		return 1, err
	}
	if api, err = client.New(apiURL, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if err := seed(context.Background()); err != nil {
		return 1, err
	}
	if receiver, err = freeAddress(); err != nil {
		return 1, err
	}
	stop, err := startOperator()
	if err != nil {
		return 1, err
	}
	defer stop()
	return m.Run(), nil
}

// startOperator runs the controllers until stop is called, which waits for them.
func startOperator() (stop func(), err error) {
	scheme, err := controllers.Scheme()
	if err != nil {
		return nil, err
	}
	options := controllers.Options{
		Namespace:        operatorNamespace,
		RestoreNamespace: restoreNamespace,
		Settings:         jobspec.Settings{Image: "storagebench:test", ImagePullPolicy: corev1.PullNever},
		Limits: admission.Limits{
			Timeout: 24 * time.Hour,
			Host:    admission.HostAccess{Paths: []string{"/tank"}, Devices: []string{"/dev/loop*"}},
		},
		Engines:  engines.All(),
		Tunables: tunable.Rules{},
		Clock:    clock.RealClock{},

		ReceiverURL: "https://" + receiver, ReceiverAddress: receiver,
	}
	mgr, err := ctrl.NewManager(asOperator(), ctrl.Options{
		Scheme:     scheme,
		Cache:      controllers.Cache(options),
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // it is started several times
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := controllers.Setup(ctx, mgr, options); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() { cancel(); <-ended }, nil
}

// seed makes what a cluster has: nodes, a StorageClass, the operator's namespace
// with the store's Secret, the ResultStore, and the operator's roles and policies.
func seed(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: restoreNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "store"},
			StringData: map[string]string{"accessKeyID": accessKey, "secretAccessKey": secretKey},
		},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "example.com/none"},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: stores.ReceiverSecret}}, // as the chart makes it
		resultStore("default", func(rs *v1alpha1.ResultStoreSpec) {
			rs.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: noResults, Operator: metav1.LabelSelectorOpDoesNotExist}}}
		}),
	}
	for _, o := range objects {
		if err := api.Create(ctx, o); err != nil {
			return err
		}
	}
	return secure(ctx)
}

func resultStore(name string, change func(*v1alpha1.ResultStoreSpec)) *v1alpha1.ResultStore {
	rs := &v1alpha1.ResultStore{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ResultStoreSpec{
			Endpoint: endpoint, Bucket: bucketName, Prefix: "it", Region: "us-east-1",
			SecretRef: v1alpha1.SecretReference{Name: "store"},
		},
	}
	change(&rs.Spec)
	return rs
}

// freeAddress is one of the loopback interface on which nobody listens.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startMinIO runs the object store on a port of the loopback interface. A bucket
// is a folder of its data directory.
func startMinIO() (stop func(), err error) {
	program := os.Getenv("STORAGEBENCH_MINIO")
	if program == "" {
		return nil, fmt.Errorf("STORAGEBENCH_MINIO names no minio program: run make test-integration")
	}
	dir, err := os.MkdirTemp("", "storagebench-minio-")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, bucketName), 0o755); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	minio := exec.Command(program, "server", "--quiet", "--address", address, dir)
	minio.Env = append(os.Environ(), "MINIO_ROOT_USER="+accessKey, "MINIO_ROOT_PASSWORD="+secretKey, "MINIO_BROWSER=off")
	if err := minio.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = minio.Process.Kill()
		_ = minio.Wait()
		_ = os.RemoveAll(dir)
	}
	endpoint = "http://" + address
	bucket, err = s3.New(s3.Config{Endpoint: endpoint, Bucket: bucketName, Prefix: "it", Region: "us-east-1", AccessKey: accessKey, SecretKey: secretKey})
	if err != nil {
		stop()
		return nil, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err := bucket.Check(ctx)
		cancel()
		if err == nil {
			return stop, nil
		}
		if time.Now().After(deadline) {
			stop()
			return nil, fmt.Errorf("minio did not come up: %w", err)
		}
	}
}

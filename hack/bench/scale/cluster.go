package main

import (
	"bytes"
	"context"
	_ "embed" // the stages of KWOK
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/internal/store/s3"
)

//go:embed kwok.yaml
var kwokStages []byte

const (
	operatorNamespace = "storagebench-system"
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":storagebench-manager"
	// leaderLease is the Lease of the operator's leader.
	leaderLease = "storagebench-manager"
	accessKey   = "storagebench-scale"
	secretKey   = "storagebench-scale-secret"
	bucketName  = "results"
)

// programs are the paths of the programs to start.
type programs struct {
	// assets is the directory of etcd and kube-apiserver.
	assets                                  string
	controllerManager, kwok, minio, manager string
}

// cluster is a control plane of processes on the loopback interface, with clients for
// it. KWOK simulates the nodes. There is no scheduler: the simulated kubelets bind each
// Pod to the node that it requests.
type cluster struct {
	dir      string
	programs programs
	env      *envtest.Environment
	config   *rest.Config // of the administrator
	api      client.Client
	core     kubernetes.Interface
	cache    cache.Cache
	bucket   *s3.Store
	endpoint string // of MinIO
	audit    *auditLog
	// kubeconfig of the operator's user.
	kubeconfig string
	processes  []*process
	stopCache  context.CancelFunc
}

// newCluster starts everything but the operator. The caller closes it, also after an error.
func newCluster(ctx context.Context, dir string, p programs, nodes int) (*cluster, error) {
	c := &cluster{dir: dir, programs: p, audit: &auditLog{path: filepath.Join(dir, "audit.log")}}
	if err := c.startMinIO(ctx); err != nil {
		return c, err
	}
	if err := c.startAPI(); err != nil {
		return c, err
	}
	if err := c.openClients(ctx); err != nil {
		return c, err
	}
	if err := c.startControllers(); err != nil {
		return c, err
	}
	err := c.seed(ctx, nodes)
	return c, err
}

// startAPI runs etcd and kube-apiserver.
func (c *cluster) startAPI() error {
	policy := filepath.Join(c.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, "control-plane.log"))
	if err != nil {
		return err
	}
	c.env = &envtest.Environment{
		BinaryAssetsDirectory:    c.programs.assets,
		CRDDirectoryPaths:        []string{"config/crd/bases"},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	etcd := &envtest.Etcd{DataDir: filepath.Join(c.dir, "etcd"), Err: log}
	if err := os.Mkdir(etcd.DataDir, 0o700); err != nil {
		return err
	}
	// Its data is not kept. Compact it, because a worker's objects alone take
	// about fifty revisions.
	etcd.Configure().Append("unsafe-no-fsync", "true").Append("quota-backend-bytes", "8589934592").Append("log-level", "error")
	c.env.ControlPlane.Etcd = etcd
	server := c.env.ControlPlane.GetAPIServer()
	server.Err = log
	server.Configure().
		Append("audit-policy-file", policy).
		Append("audit-log-path", c.audit.path).
		// In MiB. It is read on from where the last reading ended, so it must not be rotated.
		Append("audit-log-maxsize", "16384").
		// They add finalizers that only controllers remove which do not run
		// here.
		Append("disable-admission-plugins", "StorageObjectInUseProtection").
		// It adds taints that only a controller removes which needs a kubelet's
		// Leases.
		Append("disable-admission-plugins", "TaintNodesByCondition").
		Append("event-ttl", "10m").
		Append("etcd-compaction-interval", "1m")
	if c.config, err = c.env.Start(); err != nil {
		return fmt.Errorf("etcd and kube-apiserver: %w; the end of their log:\n%s", err, tail(log.Name(), 2000))
	}
	c.config.QPS, c.config.Burst = -1, 0 // the API server's own limits are enough
	c.kubeconfig, err = c.addUser("operator", envtest.User{
		Name:   operatorUser,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace},
	})
	return err
}

// addUser writes a kubeconfig for a user and returns its path.
func (c *cluster) addUser(file string, user envtest.User) (string, error) {
	added, err := c.env.AddUser(user, nil)
	if err != nil {
		return "", err
	}
	config, err := added.KubeConfig()
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, file+".kubeconfig")
	return path, os.WriteFile(path, config, 0o600)
}

func (c *cluster) openClients(ctx context.Context) error {
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	if c.api, err = client.New(c.config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if c.core, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	if c.cache, err = cache.New(c.config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()}); err != nil {
		return err
	}
	ctx, c.stopCache = context.WithCancel(ctx)
	go func() { _ = c.cache.Start(ctx) }() // its end is the context's
	return nil
}

// startControllers runs the Job controller, the garbage collector and KWOK.
func (c *cluster) startControllers() error {
	admin, err := c.addUser("admin", envtest.User{Name: "scale-admin", Groups: []string{"system:masters"}})
	if err != nil {
		return err
	}
	manager, err := start(c.dir, "kube-controller-manager", c.programs.controllerManager, nil,
		"--kubeconfig="+admin, "--leader-elect=false", "--secure-port=0",
		"--controllers=job-controller,garbage-collector-controller,namespace-controller,pod-garbage-collector-controller",
		"--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-job-syncs=20", "--concurrent-gc-syncs=20")
	if err != nil {
		return err
	}
	c.processes = append(c.processes, manager)
	stages := filepath.Join(c.dir, "kwok.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	kwok, err := start(c.dir, "kwok", c.programs.kwok, nil,
		"--kubeconfig="+admin, "--config="+stages, "--manage-all-nodes=true", "--node-lease-duration-seconds=0", "--server-address="+address)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, kwok)
	return nil
}

// startMinIO runs the object store. A bucket is a folder of its data directory.
func (c *cluster) startMinIO(ctx context.Context) error {
	data := filepath.Join(c.dir, "minio")
	if err := os.MkdirAll(filepath.Join(data, bucketName), 0o700); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	minio, err := start(c.dir, "minio", c.programs.minio,
		[]string{"MINIO_ROOT_USER=" + accessKey, "MINIO_ROOT_PASSWORD=" + secretKey, "MINIO_BROWSER=off", "MINIO_SCANNER_SPEED=slowest"},
		"server", "--quiet", "--address", address, data)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, minio)
	c.endpoint = "http://" + address
	c.bucket, err = s3.New(s3.Config{Endpoint: c.endpoint, Bucket: bucketName, Prefix: storePrefix, Region: "us-east-1", AccessKey: accessKey, SecretKey: secretKey})
	if err != nil {
		return err
	}
	return await(ctx, time.Minute, func() (bool, error) { return c.bucket.Check(ctx) == nil, minio.died() })
}

// close stops every process and returns errors of those that could not be
// stopped.
func (c *cluster) close() error {
	var err error
	if c.stopCache != nil {
		c.stopCache() // the API server waits for its watches to end
	}
	for _, p := range slices.Backward(c.processes) {
		if p.name != "minio" {
			p.stop()
		}
	}
	if c.env != nil {
		err = c.env.Stop()
	}
	for _, p := range c.processes {
		p.stop()
	}
	return err
}

// alive returns an error if one of the processes has ended.
func (c *cluster) alive() error {
	var errs []error
	for _, p := range c.processes {
		errs = append(errs, p.died())
	}
	return errors.Join(errs...)
}

// await repeats check until it returns true, for at most limit.
func await(ctx context.Context, limit time.Duration, check func() (bool, error)) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, func(context.Context) (bool, error) { return check() })
}

// apply creates the objects of a manifest file.
func (c *cluster) apply(ctx context.Context, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	objects, err := decode(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, o := range objects {
		if err := c.api.Create(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

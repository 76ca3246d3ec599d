// Command manager is the operator. It connects flags, the manager of
// controller-runtime and the controllers, and contains no decisions of its own.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
	_ "time/tzdata" // schedules have time zones, and an image may have none

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload/engines"
)

type options struct {
	controllers.Options
	pullPolicy     string
	memoryLimit    string
	storageLimit   string
	nodeSelector   string
	workloadMemory string
	metrics        metricsOptions
	probeAddr      string
	leaderElect    bool
	development    bool
}

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := options{Options: controllers.Options{Engines: engines.All(), Tunables: tunable.Rules{}, Clock: clock.RealClock{}}}
	cmd := &cobra.Command{
		Use:           "manager",
		Short:         "The storagebench operator",
		Long:          "The storagebench operator. The chart charts/storagebench installs it in a cluster.\nWith a KUBECONFIG it also runs outside.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return run(o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the operator, which holds the Secrets of ResultStores and the Leases of nodes (default: $POD_NAMESPACE)")
	f.StringSliceVar(&o.Namespaces, "benchmark-namespace", nil, "namespace whose StorageBenchmarks to run; may be repeated (default: all)")
	f.StringVar(&o.Settings.Image, "worker-image", "", "image of the workers, which contains storagebench and fio (required)")
	f.StringVar(&o.pullPolicy, "worker-image-pull-policy", string(corev1.PullIfNotPresent), "when to pull the image of the workers: Always, IfNotPresent or Never")
	f.StringSliceVar(&o.Settings.ImagePullSecrets, "worker-image-pull-secret", nil, "name of a pull secret in the benchmarks' namespaces; may be repeated")
	f.StringVar(&o.memoryLimit, "worker-memory-limit", jobspec.DefaultMemoryLimit, "memory limit of a worker, as a quantity; includes the page cache of what the worker reads and writes")
	f.StringVar(&o.storageLimit, "worker-ephemeral-storage-limit", jobspec.DefaultEphemeralStorageLimit, "ephemeral storage limit of a worker, as a quantity; holds results that are not uploaded yet, and the tools' own files")
	f.StringVar(&o.RestoreNamespace, "restore-namespace", "", "namespace of the Jobs that restore the settings of nodes; it must allow privileged Pods (default: the operator's namespace with -restore appended)")
	f.DurationVar(&o.Limits.Timeout, "max-timeout", 24*time.Hour, "longest spec.timeout that a StorageBenchmark may have; 0: no limit")
	f.StringVar(&o.workloadMemory, "max-workload-memory", "4Gi", "how much memory the tools of one workload may allocate, as a quantity; a worker's limit is raised by what is above 1Gi")
	f.StringVar(&o.nodeSelector, "node-selector", "!node-role.kubernetes.io/control-plane", "label selector of the nodes that benchmarks may use; empty: every node")
	f.StringSliceVar(&o.Limits.Host.Paths, "allow-host-path", nil, "directory of the nodes that may be a hostPath target, with everything below it; may be repeated (default: none)")
	f.StringSliceVar(&o.Limits.Host.Devices, "allow-block-device", nil, "pattern of device paths that may be blockDevice targets, for example /dev/loop*; may be repeated (default: none)")
	f.StringVar(&o.ReceiverURL, "receiver-url", "", "URL under which workers reach this operator's own store, https://HOST:PORT; it takes the results of benchmarks without a ResultStore (default: none, and every benchmark needs one)")
	f.StringVar(&o.ReceiverAddress, "receiver-bind-address", ":8443", "address of the operator's own store")
	o.metrics.register(f)
	f.StringVar(&o.probeAddr, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0: none")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "let only one of several operators work at a time")
	f.BoolVar(&o.development, "development", false, "write a log for humans instead of JSON")
	return cmd
}

// parsePositive parses a quantity above zero.
func parsePositive(flag, text string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return q, fmt.Errorf("%s is %q, but must be a quantity above 0, for example 2Gi", flag, text)
	}
	return q, nil
}

func run(o options) error {
	switch {
	case o.Namespace == "":
		return fmt.Errorf("--namespace is empty; set it to the operator's namespace, or set POD_NAMESPACE")
	case o.Settings.Image == "":
		return fmt.Errorf("--worker-image is empty; set it to the image of the workers")
	}
	switch o.Settings.ImagePullPolicy = corev1.PullPolicy(o.pullPolicy); o.Settings.ImagePullPolicy {
	case corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		return fmt.Errorf("--worker-image-pull-policy is %q, but must be Always, IfNotPresent or Never", o.pullPolicy)
	}
	if o.RestoreNamespace == "" {
		o.RestoreNamespace = o.Namespace + "-restore"
	}
	var err error
	if o.Settings.MemoryLimit, err = parsePositive("--worker-memory-limit", o.memoryLimit); err != nil {
		return err
	}
	if o.Settings.EphemeralStorageLimit, err = parsePositive("--worker-ephemeral-storage-limit", o.storageLimit); err != nil {
		return err
	}
	memory, err := parsePositive("--max-workload-memory", o.workloadMemory)
	if err != nil {
		return err
	}
	o.Limits.WorkloadMemory = uint64(memory.Value()) //nolint:gosec // it is positive
	if o.Limits.Nodes, err = labels.Parse(o.nodeSelector); err != nil {
		return fmt.Errorf("--node-selector %q: %w; use a label selector, for example !node-role.kubernetes.io/control-plane", o.nodeSelector, err)
	}
	if err := o.metrics.check(); err != nil {
		return err
	}
	limitMemory()
	ctrl.SetLogger(zap.New(zap.UseDevMode(o.development)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find a cluster: %w", err)
	}
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  controllers.Cache(o.Options),
		// Those of controller-runtime are not bounded.
		Metrics:                       server.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "storagebench-manager",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := controllers.Setup(ctx, mgr, o.Options); err != nil {
		return err
	}
	if err := o.metrics.add(ctx, mgr); err != nil {
		return err
	}
	if err := addHealth(ctx, mgr, o.probeAddr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// limitMemory makes the garbage collector work harder near the container's limit, where the
// kernel would otherwise kill the process. The chart passes the limit in bytes; a
// GOMEMLIMIT set by hand takes precedence.
func limitMemory() {
	limit, err := strconv.ParseInt(os.Getenv("GOMEMLIMIT_BYTES"), 10, 64)
	if err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

//go:build zfs

package zfs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/turns"
	"storagebench.io/storagebench/test/wait"
)

const (
	node = "zfs"
	// label is the node's, and the key of the taint that keeps other Pods away.
	label = "storagebench.io/zfs"
	// dataset of the pool, mounted at "/" + dataset.
	dataset = "tank/bench"
	// parameters of the module, one file each.
	parameters = "/sys/module/zfs/parameters/"
)

// patience bounds every wait. Without KVM a Pod takes ten seconds to end and a boot half a
// minute, and several times that on a machine that does something else. A look at the guest takes
// its one processor.
var patience = wait.Patience{Every: time.Second, AtMost: 20 * time.Minute}

var (
	api  client.Client
	logs kubernetes.Interface
)

func TestMain(m *testing.M) {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, "zfs: no node to test on (make test-zfs makes one):", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func connect() error {
	connection, err := cluster.Connect()
	if err != nil {
		return err
	}
	api = connection.API
	if logs, err = kubernetes.NewForConfig(connection.Config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return api.Get(ctx, types.NamespacedName{Name: node}, &corev1.Node{})
}

// guest runs test/zfs/guest and returns what it prints, without its progress.
func guest(t *testing.T, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience.AtMost)
	defer cancel()
	var progress strings.Builder
	command := exec.CommandContext(ctx, "./guest", arguments...)
	command.Stderr = &progress
	out, err := command.Output()
	if err != nil {
		t.Fatalf("guest %s: %v\n%s%s", strings.Join(arguments, " "), err, out, progress.String())
	}
	return strings.TrimSpace(string(out))
}

// inGuest runs a command as root in the guest, past Kubernetes.
func inGuest(t *testing.T, command ...string) string {
	t.Helper()
	return guest(t, append([]string{"exec"}, command...)...)
}

// powerCut ends the guest as if its plug was pulled. At the test's end it is up again.
func powerCut(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { powerOn(t) })
	t.Log(guest(t, "kill"))
}

// powerOn boots the disks that powerCut left, unless the guest runs, and waits until
// the node is ready.
func powerOn(t *testing.T) {
	t.Helper()
	t.Log(guest(t, "up"))
}

// parameter of ZFS's module, as it is now.
func parameter(t *testing.T, name string) string {
	t.Helper()
	return inGuest(t, "cat", parameters+name)
}

// property of tank/bench, as it is now.
func property(t *testing.T, name string) string {
	t.Helper()
	return inGuest(t, "zfs", "get", "-H", "-o", "value", name, dataset)
}

// lab is a namespace of a test's own, in which privileged Pods may be.
type lab struct {
	t         *testing.T
	namespace string
	// image is the one of the operator's workers.
	image string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	turns.WithOthers(t, "../../.cluster")
	// Who else uses the cluster may have installed another one meanwhile.
	guest(t, "images")
	operator := &appsv1.Deployment{}
	if err := api.Get(t.Context(), types.NamespacedName{Namespace: "storagebench-system", Name: "storagebench-manager"}, operator); err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "zfs-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
	}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.Background(), ns); err != nil {
			t.Error(err)
		}
	})
	image, err := cluster.WorkerImage(operator.Spec.Template.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, namespace: ns.Name, image: image}
}

// pod runs a bash script in a privileged Pod on the node and returns its output. The
// Pod has the dataset at /tank/bench, the node's processes, and the project's image;
// what the image has not got, such as zfs, is run with: nsenter -t 1 -m -- zfs …
func (l *lab) pod(name, script string) string {
	l.t.Helper()
	directory, propagation := corev1.HostPathDirectory, corev1.MountPropagationHostToContainer
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			HostPID:       true,
			NodeSelector:  map[string]string{label: "true"},
			Tolerations:   []corev1.Toleration{{Key: label, Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "script", Image: l.image, ImagePullPolicy: corev1.PullIfNotPresent,
				Command:         []string{"bash", "-euo", "pipefail", "-c", script},
				WorkingDir:      "/tmp",
				SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))},
				VolumeMounts:    []corev1.VolumeMount{{Name: "bench", MountPath: "/" + dataset, MountPropagation: &propagation}},
			}},
			Volumes: []corev1.Volume{{Name: "bench", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/" + dataset, Type: &directory},
			}}},
		},
	}
	l.eventually("the namespace takes Pods", func() error { return api.Create(l.t.Context(), pod) })
	l.eventually("Pod "+name+" ends", func() error {
		if err := api.Get(l.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("%+v", pod.Status)
		}
		return nil
	})
	out, err := logs.CoreV1().Pods(l.namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodSucceeded {
		l.t.Fatalf("Pod %s: %s", name, out)
	}
	return strings.TrimSpace(string(out))
}

// eventually repeats check until it returns nil.
func (l *lab) eventually(what string, check func() error) {
	l.t.Helper()
	patience.For(l.t, what, check)
}

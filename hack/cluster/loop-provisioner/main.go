// Command loop-provisioner gives every PersistentVolumeClaim of a class with
// the provisioner loop.storagebench.io a loop device of its own.
//
// It runs as a process of the host, beside the cluster. For a claim that the
// scheduler has placed on a node it makes a file, attaches a loop device,
// formats it if the claim wants a file system, and publishes the device as a
// local PersistentVolume pinned to that node. When the claim goes, the device
// is detached and the file removed.
//
// Loop devices rather than directories, because a benchmark of storage needs
// a block device underneath: one with its own request queue, statistics and
// tunables in /sys/block/loopN, that no other volume shares.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const provisionerName = "loop.storagebench.io"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig to use")
	dir := flag.String("dir", "", "directory of the volumes' files, one subdirectory per node")
	flag.Parse()
	if *kubeconfig == "" || *dir == "" {
		log.Fatal("loop-provisioner: --kubeconfig and --dir are required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatalf("loop-provisioner: read kubeconfig: %v", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatalf("loop-provisioner: make a client: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	controller.NewProvisionController(ctx, client, provisionerName, &provisioner{devices: newLoops(*dir)},
		controller.LeaderElection(false),
		// The library's own first retry is 15 s away. A device that is still
		// mounted when its claim goes is free a few hundred milliseconds later.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 10*time.Second)),
		// For ever: giving up a deletion would leak its device.
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
	).Run(ctx)
}

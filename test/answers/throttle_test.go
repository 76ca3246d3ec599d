//go:build answers

package answers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// throttle limits the I/O of Pods to volumes of classes, to so many operations a second, until the test
// has ended. The loop devices and the cgroups of the local cluster's nodes are this machine's. A limit
// is set within a fraction of a second after the Pod's cgroup is there, before fio has laid out its
// files; it is set again for each container.
func (l *lab) throttle(limits map[string]int) {
	l.t.Helper()
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "blkio")); err == nil {
		root = filepath.Join(root, "blkio")
	} else if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		l.t.Fatal("this machine has no block I/O controller that can make a class slower")
	}
	ctx, stop := context.WithCancel(l.ctx)
	var wait sync.WaitGroup
	set := 0
	wait.Go(func() {
		for ctx.Err() == nil {
			n, err := l.throttleOnce(ctx, root, limits)
			if err != nil && ctx.Err() == nil {
				l.t.Errorf("cannot throttle: %v", err)
				return
			}
			set += n
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	l.t.Cleanup(func() {
		stop()
		wait.Wait()
		if set == 0 {
			l.t.Error("no Pod was throttled, so the classes were equal")
		}
	})
}

// throttleOnce sets the limits of all Pods that there are, and counts the cgroups.
func (l *lab) throttleOnce(ctx context.Context, root string, limits map[string]int) (set int, err error) {
	volumes, pods := &corev1.PersistentVolumeList{}, &corev1.PodList{}
	if err := errors.Join(api.List(ctx, volumes), api.List(ctx, pods, client.InNamespace(l.namespace))); err != nil {
		return 0, err
	}
	for i := range volumes.Items {
		v := &volumes.Items[i]
		limit, ok := limits[v.Spec.StorageClassName]
		if !ok || v.Spec.Local == nil || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.Namespace != l.namespace {
			continue
		}
		number, err := os.ReadFile("/sys/class/block/" + filepath.Base(v.Spec.Local.Path) + "/dev")
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being removed
		}
		if err != nil {
			return set, err
		}
		for k := range pods.Items {
			if !mounts(&pods.Items[k], v.Spec.ClaimRef.Name) {
				continue
			}
			n, err := throttlePod(root, string(pods.Items[k].UID), strings.TrimSpace(string(number)), limit)
			if err != nil {
				return set, err
			}
			set += n
		}
	}
	return set, nil
}

func mounts(pod *corev1.Pod, claim string) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// throttlePod limits a device in the cgroups of a Pod. In version 1 each container needs its own limit; in
// version 2 that of the Pod is enough.
func throttlePod(root, uid, device string, limit int) (set int, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a container has ended
		}
		if err != nil {
			return err
		}
		// The systemd driver writes a Pod's UID with underscores.
		if !entry.IsDir() || !strings.Contains(strings.ReplaceAll(path, "_", "-"), uid) {
			return nil
		}
		files := map[string]string{
			"blkio.throttle.read_iops_device":  fmt.Sprintf("%s %d", device, limit),
			"blkio.throttle.write_iops_device": fmt.Sprintf("%s %d", device, limit),
		}
		if filepath.Base(root) != "blkio" {
			files = map[string]string{"io.max": fmt.Sprintf("%s riops=%d wiops=%d", device, limit, limit)}
		}
		for name, value := range files {
			if err := os.WriteFile(filepath.Join(path, name), []byte(value), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
				return err // and not because the container has ended
			}
		}
		set++
		return nil
	})
	return set, err
}

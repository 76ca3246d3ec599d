//go:build truth

package truth

import (
	"context"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// refusing is a file or directory of a file system that refuses O_DIRECT. A FUSE program gets the flag and may say
// no; among Linux's own file systems only those of memory still do.
type refusing struct{ *fs.LoopbackNode }

var (
	_ fs.NodeOpener      = refusing{}
	_ fs.NodeCreater     = refusing{}
	_ fs.NodeWrapChilder = refusing{}
)

func (n refusing) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_DIRECT != 0 {
		return nil, 0, syscall.EINVAL
	}
	return n.LoopbackNode.Open(ctx, flags)
}

func (n refusing) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_DIRECT != 0 {
		return nil, nil, 0, syscall.EINVAL
	}
	return n.LoopbackNode.Create(ctx, name, flags, mode, out)
}

func (refusing) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &refusing{child.(*fs.LoopbackNode)}
}

// programs are lies of direct I/O on file systems of programs: one refuses it, and one accepts it and reads and
// writes its own files through the page cache.
var programs = []kind{
	{
		name: "direct I/O that is refused", refusal: "spec.workloads[w].bandwidth.direct: the target refuses direct I/O",
		lie:  onRefusing(`bandwidth: {size: 128Mi, operations: [Write]}`),
		twin: on(`bandwidth: {size: 128Mi, operations: [Write]}`),
	},
	{
		name: "direct I/O of fio that is refused", refusal: "spec.workloads[w].fio.parameters.direct: the target refuses direct=1",
		lie:  onRefusing(`fio: {parameters: {rw: randread, bs: 16k, size: 64m, runtime: 2, time_based: 1, direct: 1}}`),
		twin: on(`fio: {parameters: {rw: randread, bs: 16k, size: 64m, runtime: 2, time_based: 1, direct: 1}}`),
	},
	{
		name: "direct I/O that a program answers from memory", verdict: "WorkingSetTooSmall", operation: "read",
		never: []string{"ImpossibleUncached", "QueueHidesLatency", "BlockSizeLimited"}, // these trust direct I/O
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: bindfs(t, ext4(t, disk(t))), workload: fio(randomRead + direct)}
		},
		twin: on(fio(randomRead + direct)),
	},
}

func onRefusing(workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: refuseDirect(t, ext4(t, disk(t))), workload: workload}
	}
}

// refuseDirect mounts a directory again, by this program, which refuses O_DIRECT.
func refuseDirect(t *testing.T, of string) string {
	t.Helper()
	root, err := fs.NewLoopbackRoot(of)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The workload is another user, and whose files it may use the kernel decides.
	options := fuse.MountOptions{FsName: "truth", Name: "refusing", AllowOther: true, Options: []string{"default_permissions"}, DirectMountStrict: true}
	server, err := fs.Mount(dir, &refusing{root.(*fs.LoopbackNode)}, &fs.Options{MountOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Wait) // it ends when its file system is unmounted
	undo(t, "umount", dir)
	return dir
}

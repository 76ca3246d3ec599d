package bonnie

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// sizeNote says which size was chosen when the target was still empty.
type sizeNote struct {
	Size uint64 `json:"size"`
}

func noteName(env workload.Env) string { return "bonnie-size-" + env.Workload.Name }

// Prepare removes what a killed attempt left, chooses the size of a workload that gives
// none, and checks that there is room.
func (e Engine) Prepare(_ context.Context, env workload.Env) error {
	if err := e.Check(env.Workload.Config, env.Target.Mode); err != nil {
		return env.InSpec(err)
	}
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	if err := os.RemoveAll(directory(env)); err != nil {
		return env.Refused("bonnie", "remove the files of an earlier attempt", err)
	}
	room, err := env.Room()
	if err != nil {
		return err
	}
	if c.Size == nil {
		if err := e.chooseSize(env, c, room); err != nil {
			return err
		}
	}
	size, err := c.size(env)
	if err != nil {
		return err
	}
	if need := c.need(size); need > room {
		return env.TooSmall(need, room, "make it larger, or lower size or files of the workload")
	}
	return checkInodes(env, c.Files*filesUnit)
}

// size of the file: what is given, or what Prepare chose.
func (c config) size(env workload.Env) (uint64, error) {
	if c.Size != nil {
		return mebibytes(uint64(*c.Size)) << 20, nil
	}
	var n sizeNote
	ok, err := env.LoadNote(noteName(env), &n)
	if err == nil && !ok {
		err = fmt.Errorf("bonnie: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	return n.Size, err
}

// chooseSize takes twice the node's memory, so that most of what is read cannot come
// from there, or 80 % of a smaller target. It is chosen once, as what is free changes.
func (e Engine) chooseSize(env workload.Env, c config, room uint64) error {
	if ok, err := env.LoadNote(noteName(env), &sizeNote{}); ok || err != nil {
		return err
	}
	size := min(room/10*8, maxSize, maxChunks*uint64(c.ChunkSize))
	if memory := e.memory(); memory > 0 {
		size = min(size, 2*memory)
	}
	size = mebibytes(size) << 20
	if size < minSize {
		return env.TooSmall(minSize*10/8, room, "make it larger")
	}
	return env.SaveNote(noteName(env), sizeNote{size})
}

// need is what a trial occupies at most: the large file is removed before the small
// files are created, which take an inode and a name each.
func (c config) need(size uint64) uint64 {
	const each = 512
	return max(size, uint64(c.Files)*filesUnit*each)
}

// checkInodes refuses a file system that cannot hold the small files. Where inodes are
// made as they are needed it says nothing.
func checkInodes(env workload.Env, files int64) error {
	free, limited := freeInodes(env.Dir)
	if !limited || free > uint64(files) {
		return nil
	}
	return &trial.Failure{
		Class: reason.TargetTooSmall, Field: env.Field("bonnie.files"), Workload: env.Workload.Name,
		Message: fmt.Sprintf("the test creates %d files, but the file system has only %d free inodes", files, free),
		Remedy:  "lower files (in units of 1024), or use a file system with more inodes",
	}
}

func freeInodes(dir string) (free uint64, limited bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Files == 0 {
		return 0, false
	}
	return fs.Ffree, true
}

// memory of the node, as the kernel says it.
func (e Engine) memory() uint64 {
	if e.Memory > 0 {
		return e.Memory
	}
	return workload.Memory()
}

// cached says what a small file means.
func (e Engine) cached(size uint64) []string {
	memory := e.memory()
	if size >= 2*memory {
		return nil
	}
	return []string{fmt.Sprintf("the file of %s is less than twice the node's memory of %s: reads, rewrites and seeks may be served from memory",
		workload.Human(size), workload.Human(memory))}
}

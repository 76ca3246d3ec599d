package bonnie

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// sizeNote says which size was chosen when the target was still empty.
type sizeNote struct {
	Size   uint64            `json:"size"`
	Choice result.SizeChoice `json:"choice"`
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

// chooseSize chooses the size once, as what is free changes.
func (e Engine) chooseSize(env workload.Env, c config, room uint64) error {
	if ok, err := env.LoadNote(noteName(env), &sizeNote{}); ok || err != nil {
		return err
	}
	choice := c.chosenSize(e.machine(env.Machine), room)
	if choice.Bytes < minSize {
		return env.TooSmall(minSize*10/8, room, "make it larger")
	}
	return env.SaveNote(noteName(env), sizeNote{choice.Bytes, choice})
}

// chosenSize of a file that is not given: twice what the page cache can hold, so that most of what
// is read cannot come from there.
func (c config) chosenSize(machine workload.Machine, room uint64) result.SizeChoice {
	choice := workload.Size(workload.SizeFacts{Machine: machine, Buffered: true, Room: room, Parts: 1, Unit: 1 << 20})
	if most := mebibytes(min(maxSize, maxChunks*uint64(c.ChunkSize))) << 20; choice.Bytes > most {
		choice.Bytes, choice.Why = most, "the most that bonnie++ can count"
		choice.TooSmall = most/2 < choice.CacheBytes
	}
	return choice
}

// Outline says what the workload will do at a place.
func (Engine) Outline(_ string, raw json.RawMessage, at workload.Place) (workload.Outline, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Outline{}, err
	}
	out := workload.Outline{}
	var size uint64
	if c.Size != nil {
		size = mebibytes(uint64(*c.Size)) << 20
	} else {
		choice := c.chosenSize(at.Machine, at.Room)
		size, out.Size = choice.Bytes, &choice
	}
	out.Needs, out.Writes = c.need(size), 2*size // written, and rewritten
	if c.PerCharacter {
		out.Writes += size
	}
	return out, nil
}

// choice is the size that Prepare chose, or nil.
func (c config) choice(env workload.Env) *result.SizeChoice {
	var n sizeNote
	if ok, err := env.LoadNote(noteName(env), &n); c.Size != nil || !ok || err != nil {
		return nil
	}
	return &n.Choice
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

// machine is where bonnie++ runs.
func (e Engine) machine(m workload.Machine) workload.Machine {
	if e.Memory > 0 {
		return workload.Machine{Memory: e.Memory}
	}
	if m.Memory == 0 {
		m.Memory = workload.Memory()
	}
	return m
}

// cached says what a small file means.
func (e Engine) cached(env workload.Env, size uint64) []string {
	m := e.machine(env.Machine)
	memory, what := m.Memory, "the node's memory"
	if m.Limit > 0 && m.Limit < memory {
		memory, what = m.Limit, "the memory limit"
	}
	if size >= 2*memory {
		return nil
	}
	return []string{fmt.Sprintf("the file of %s is less than twice %s of %s: reads, rewrites and seeks may be served from memory",
		workload.Human(size), what, workload.Human(memory))}
}

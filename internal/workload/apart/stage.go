package apart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// stage has an engine's environment, with the paths that the engine sees and those that the
// runner knows.
type stage struct {
	confinement
	// env has the paths that the engine sees.
	env workload.Env
	// names alternates between a path that the engine sees and the runner's path for it.
	names []string
}

// newStage gives the engine's user the directories that the engine works in.
func newStage(env workload.Env) (*stage, error) {
	s := &stage{env: env}
	if !Privileged() {
		return s, nil
	}
	s.User = User
	if env.Target.Mode == trial.Block {
		if err := s.addDevice(env.Device); err != nil {
			return nil, err
		}
	} else if err := s.addTarget(env); err != nil {
		return nil, err
	}
	if err := s.addOwn(); err != nil {
		return nil, err
	}
	return s, nil
}

// addTarget adds the run's directory. It uses the open directory, because somebody who may
// write to the target can put another one in its place.
func (s *stage) addTarget(env workload.Env) error {
	if env.Opened == nil {
		return fmt.Errorf("apart: the run's directory %s is not open", env.Dir)
	}
	if err := env.Opened.Chown(User, User); err != nil {
		return &trial.Failure{
			Class: reason.TargetUnusable, Field: env.SizeField(), Workload: env.Workload.Name, Err: err,
			Message: fmt.Sprintf("the file system does not let user 0 give a directory to user %d, who runs the workloads: %v", User, err),
			Remedy:  "use a file system that keeps owners of files; export NFS without root_squash",
		}
	}
	return s.add(env.Opened, env.Dir, &s.env.Dir, "target")
}

// addOwn adds the runner's own directories, to which nobody else can write.
func (s *stage) addOwn() error {
	for name, path := range map[string]*string{"scratch": &s.env.Scratch, "state": &s.env.State} {
		if *path == "" {
			continue
		}
		real, err := filepath.Abs(*path)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err != nil {
			return fmt.Errorf("apart: %w", err)
		}
		dir, err := os.Open(real)
		if err != nil {
			return fmt.Errorf("apart: %w", err)
		}
		err = dir.Chown(User, User)
		if err == nil {
			err = s.add(dir, real, path, name)
		}
		_ = dir.Close() // it was only read
		if err != nil {
			return fmt.Errorf("apart: %w", err)
		}
	}
	return nil
}

// add adds an open directory, and sets *seen to the path by which the engine will know it.
func (s *stage) add(dir *os.File, path string, seen *string, name string) error {
	info, err := dir.Stat()
	if err != nil {
		return fmt.Errorf("apart: %w", err)
	}
	inode, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("apart: %s has no inode", path)
	}
	s.Places = append(s.Places, place{Name: name, Path: path, Device: inode.Dev, Inode: inode.Ino})
	s.see(seen, filepath.Join(mountPoint, name))
	return nil
}

// addDevice adds the device, by its number: its node belongs to root, and what else its
// node's group may open is not the engine's business.
func (s *stage) addDevice(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("apart: %w", err)
	}
	inode, ok := info.Sys().(*syscall.Stat_t)
	if !ok || inode.Mode&syscall.S_IFMT != syscall.S_IFBLK {
		return fmt.Errorf("apart: %s is not a block device", path)
	}
	s.Node = &node{Name: filepath.Base(path), Number: inode.Rdev}
	s.see(&s.env.Device, filepath.Join(mountPoint, nodes, s.Node.Name))
	return nil
}

func (s *stage) see(path *string, as string) {
	s.names = append(s.names, as, *path)
	*path = as
}

// rename writes into a result the paths that its readers know.
func (s *stage) rename(r *result.EngineResult) {
	if len(s.names) == 0 {
		return
	}
	replacer := strings.NewReplacer(s.names...)
	each := func(texts ...*string) {
		for _, text := range texts {
			*text = replacer.Replace(*text)
		}
	}
	if f := r.Failure; f != nil {
		each(&f.Message, &f.Remedy)
	}
	m := r.Measurement
	if m == nil {
		return
	}
	each(&m.Input, &m.Stderr)
	for _, texts := range [][]string{m.Command, m.Notes} {
		for i := range texts {
			each(&texts[i])
		}
	}
	if m.DirectIO != nil {
		each(&m.DirectIO.Evidence)
	}
}

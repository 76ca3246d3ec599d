package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopPatience is how long a process may take to end by itself.
const stopPatience = 10 * time.Second

// process is a program that this one has started. Its output goes to a file.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of its end; read after exited is closed
}

// start runs a program until stop or kill is called.
func start(dir, name, program string, env []string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	// Not ended by a context: stop and kill do that, in the right order.
	p.cmd = exec.CommandContext(context.Background(), program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A group of its own: an interrupt at the terminal is for this program, which ends
	// the others in their order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// died returns an error with the end of the log if the process has ended.
func (p *process) died() error {
	if p.running() {
		return nil
	}
	return fmt.Errorf("%s has ended (%w); the end of its log:\n%s", p.name, p.err, tail(p.log, 2000))
}

// kill ends the process as a power cut does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(stopPatience):
		p.kill()
	}
}

// usage is what /proc tells of a process.
type usage struct {
	// CPU is its user and system time.
	CPU time.Duration
	// PeakMemory and Memory are resident, in bytes.
	PeakMemory, Memory uint64
}

func (p *process) usage() (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.pid())
	stat, statErr := os.ReadFile(dir + "stat")
	status, statusErr := os.ReadFile(dir + "status")
	if err := errors.Join(statErr, statusErr); err != nil {
		return usage{}, err
	}
	return parseUsage(string(stat), string(status))
}

// clockTick is the unit of CPU times in /proc: USER_HZ, 100 on every architecture of Go.
const clockTick = 10 * time.Millisecond

// parseUsage reads /proc/PID/stat and /proc/PID/status.
func parseUsage(stat, status string) (usage, error) {
	// The second field is the program's name in parentheses and may hold anything.
	_, rest, ok := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return usage{}, fmt.Errorf("/proc/PID/stat has %d fields behind the name: %q", len(fields), stat)
	}
	user, userErr := strconv.ParseInt(fields[11], 10, 64)
	system, systemErr := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(userErr, systemErr); err != nil {
		return usage{}, err
	}
	u := usage{CPU: time.Duration(user+system) * clockTick}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		var kilobytes uint64
		if _, err := fmt.Sscanf(value, "%d kB", &kilobytes); err != nil {
			continue // another kind of line
		}
		switch name {
		case "VmHWM":
			u.PeakMemory = kilobytes << 10
		case "VmRSS":
			u.Memory = kilobytes << 10
		}
	}
	return u, nil
}

// tail returns the end of a file, for messages.
func tail(path string, bytes int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-bytes):])
}

// freeAddress is one of the loopback interface that nobody listens on.
func freeAddress() (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

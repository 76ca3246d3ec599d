package blockio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Collector observes disks until it is closed.
type Collector struct {
	disks      []Disk
	collection *ebpf.Collection
	links      []io.Closer
	pace       *pace
	// sampling is what mapSampling holds; pace changes it.
	sampling [maxDisks]uint64
	// own is the mount namespace of the process that called Open.
	own uint64
}

// Open starts to observe the disks. Its error says why that is not possible, in words for a
// document.
func Open(disks []Disk) (*Collector, error) { return open(disks, cpus()) }

// open is Open on a machine of so many CPUs.
func open(disks []Disk, cpus int) (*Collector, error) {
	if len(disks) == 0 {
		return nil, errors.New("none of the target's disks is visible")
	}
	if len(disks) > maxDisks {
		return nil, fmt.Errorf("the target has %d disks, the limit is %d", len(disks), maxDisks)
	}
	c := &Collector{disks: disks}
	var err error
	if c.own, err = mountNamespace("self"); err != nil {
		return nil, explain(err)
	}
	spec, err := programs(disks, cpus)
	if err != nil {
		return nil, explain(err)
	}
	if c.collection, err = ebpf.NewCollection(spec); err != nil {
		return nil, explain(err)
	}
	for _, name := range tracepoints {
		l, err := link.AttachTracing(link.TracingOptions{Program: c.collection.Programs[name]})
		if err != nil {
			return nil, explain(errors.Join(err, c.Close()))
		}
		c.links = append(c.links, l)
	}
	c.pace = startPace(disks, c.setSampling)
	return c, nil
}

// programs returns the programs and maps for the running kernel.
func programs(disks []Disk, cpus int) (*ebpf.CollectionSpec, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, err
	}
	l, err := readLayout(kernel)
	if err != nil {
		return nil, err
	}
	numbers, requests := []uint32{}, 0
	for _, d := range disks {
		numbers, requests = append(numbers, d.number), requests+d.requests
	}
	spec := &ebpf.CollectionSpec{Maps: mapSpecs(len(disks), min(max(requests, 1024), maxRequests), cpus), Programs: map[string]*ebpf.ProgramSpec{}}
	shared := spec.Maps[mapHistograms].Type == ebpf.Array
	for name, program := range map[string]func(*assembler, []uint32) asm.Instructions{inserted: insertProgram, issued: issueProgram, requeued: requeueProgram, completed: completeProgram} {
		spec.Programs[name] = &ebpf.ProgramSpec{
			Name: name, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: name,
			Instructions: program(&assembler{layout: l, shared: shared}, numbers),
			License:      "Dual MIT/GPL", // the kernel's helpers for this are only for programs under the GPL
		}
	}
	return spec, nil
}

// explain says in one line why the programs cannot run.
func explain(err error) error {
	var verifier *ebpf.VerifierError
	switch {
	case errors.Is(err, os.ErrPermission):
		return errors.New("no privilege to load eBPF programs: that needs root, or CAP_BPF and CAP_PERFMON, outside of user namespaces, and a kernel that is not locked down")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, btf.ErrNotFound), errors.Is(err, btf.ErrNotSupported):
		return fmt.Errorf("the kernel cannot do it (it needs Linux 5.11 or later with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF): %w", err)
	case errors.As(err, &verifier) && len(verifier.Log) > 0:
		return fmt.Errorf("the kernel refused the program: %w: %s", verifier.Cause, verifier.Log[len(verifier.Log)-1])
	default:
		return err
	}
}

// Own tells that the process is the workload's. Requests that it and its children submit are its
// own if it has a mount namespace of its own; else nobody knows whose they are.
func (c *Collector) Own(pid int) error {
	number, err := mountNamespace(fmt.Sprint(pid))
	if err != nil {
		return fmt.Errorf("blockio: %w", err)
	}
	if number == c.own {
		number = 0
	}
	return c.setOwner(number)
}

func (c *Collector) setOwner(namespace uint64) error {
	if err := c.collection.Maps[mapOwner].Put(uint32(0), namespace); err != nil {
		return fmt.Errorf("blockio: %w", err)
	}
	return nil
}

// mountNamespace returns the number of a process's mount namespace.
func mountNamespace(pid string) (uint64, error) {
	text, err := os.Readlink("/proc/" + pid + "/ns/mnt")
	if err != nil {
		return 0, err
	}
	var n uint64
	if _, err := fmt.Sscanf(text, "mnt:[%d]", &n); err != nil {
		return 0, fmt.Errorf("the mount namespace %q: %w", text, err)
	}
	return n, nil
}

// Close ends the observation.
func (c *Collector) Close() error {
	var errs []error
	if c.pace != nil {
		errs = append(errs, c.pace.stop())
	}
	for _, l := range c.links {
		errs = append(errs, l.Close())
	}
	if c.collection != nil {
		c.collection.Close()
	}
	return errors.Join(errs...)
}

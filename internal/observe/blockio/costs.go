package blockio

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Cost is what the kernel counted of one of the programs.
type Cost struct {
	// Tracepoint at which it runs.
	Tracepoint string
	Runs       uint64
	Time       time.Duration
}

// Costs returns what the programs cost while it was counted.
func (c *Collector) Costs() ([]Cost, error) {
	var out []Cost
	for _, name := range tracepoints {
		cost, err := costOf(name, c.collection.Programs[name])
		if err != nil {
			return nil, err
		}
		out = append(out, cost)
	}
	return out, nil
}

func costOf(tracepoint string, p *ebpf.Program) (Cost, error) {
	stats, err := p.Stats()
	if err != nil {
		return Cost{}, fmt.Errorf("blockio: %w", err)
	}
	return Cost{Tracepoint: tracepoint, Runs: stats.RunCount, Time: stats.Runtime}, nil
}

// Counting is the time in which the kernel counts what all eBPF programs of the machine cost.
type Counting struct {
	closers []io.Closer
	empty   *ebpf.Program
}

// CountCosts begins to count. A program that does nothing runs beside the others: what the kernel
// counts of that is the counting.
func CountCosts() (*Counting, error) {
	const runTime = 0 // BPF_STATS_RUN_TIME
	k := &Counting{}
	fail := func(err error) (*Counting, error) { return nil, errors.Join(fmt.Errorf("blockio: %w", err), k.Close()) }
	var err error
	k.empty, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "empty", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: issued,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}, License: "Dual MIT/GPL",
	})
	if err != nil {
		return fail(err)
	}
	k.closers = append(k.closers, k.empty)
	attached, err := link.AttachTracing(link.TracingOptions{Program: k.empty})
	if err != nil {
		return fail(err)
	}
	k.closers = append(k.closers, attached)
	stats, err := ebpf.EnableStats(runTime)
	if err != nil {
		return fail(err)
	}
	k.closers = append(k.closers, stats)
	return k, nil
}

// Empty is the cost of the program that does nothing.
func (k *Counting) Empty() (Cost, error) { return costOf(issued, k.empty) }

// Close ends it.
func (k *Counting) Close() error {
	var errs []error
	for _, c := range k.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

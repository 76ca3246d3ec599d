//go:build system

package blockio

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// There is room for few requests, and so more at a time are counted as dropped.
func TestRequestsWithoutRoomAreCounted(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	requests := c.collection.Maps[mapRequests]
	for i := range uint64(requests.MaxEntries()) {
		if err := requests.Put(i, make([]byte, entryN)); err != nil {
			break // it is full
		}
	}
	d, _ := during(t, c, func() { fio(t, device, "--rw=randread", "--bs=4k", "--size=1m", "--number_ios=100") })
	if d.Dropped == 0 || len(d.Operations) != 0 {
		t.Errorf("dropped %d, counted %v", d.Dropped, slices.Collect(maps.Keys(d.Operations)))
	}
}

// On a machine of many CPUs, or of many disks, all CPUs share the histograms.
func TestTheLargestCollectorCounts(t *testing.T) {
	device, small := watched(t)
	if small == nil {
		return
	}
	disks := make([]Disk, 0, maxDisks)
	for i := range maxDisks - 1 {
		disks = append(disks, Disk{Name: fmt.Sprint(i), number: 4000<<minorBits | uint32(i), requests: maxRequests})
	}
	own, _ := Disks("/", []string{filepath.Base(device)})
	c, err := open(append(disks, own...), 1024)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // it was only read
	if kind := c.collection.Maps[mapHistograms].Type(); kind != ebpf.Array {
		t.Errorf("the histograms are in a map of type %s", kind)
	}
	before, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	_, writes, _ := fio(t, device, "--rw=randwrite", "--bs=4k", "--size=64m", "--number_ios=500")
	end, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	devices, _ := c.Trial(before, end)
	for i, d := range devices {
		if last := i == maxDisks-1; last != (len(d.Operations) > 0) {
			t.Errorf("disk %d has %v", i, d.Operations)
		}
	}
	got := devices[maxDisks-1].Operations["write"]
	if got.Count != writes || got.Latency.Count() < writes*8/10 {
		t.Errorf("%d writes are counted, and %d times, want %d", got.Count, got.Latency.Count(), writes)
	}
}

// computed returns what the instructions leave in R2, of a value in R1.
func computed(t *testing.T, f func(a *assembler)) func(v uint64) int {
	t.Helper()
	const at = -8
	a := &assembler{}
	a.emit(
		asm.Mov.Imm(asm.R2, 0), asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, at), asm.Mov.Imm(asm.R4, 8),
		asm.FnSkbLoadBytes.Call(), asm.LoadMem(asm.R1, asm.RFP, at, asm.DWord),
	)
	f(a)
	a.emit(asm.Mov.Reg(asm.R0, asm.R2), asm.Return())
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, Instructions: a.ins, License: "Dual MIT/GPL"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return func(v uint64) int {
		packet := make([]byte, 64)
		binary.NativeEndian.PutUint64(packet[14:], v) // after the header
		got, err := p.Run(&ebpf.RunOptions{Data: packet})
		if err != nil {
			t.Fatal(err)
		}
		return int(got)
	}
}

// Of each eight windows in a row one is in the sample, and it is each of the eight alike, whatever it
// was before.
func TestOneOfEightWindowsIsDrawn(t *testing.T) {
	const shift, rows = 3, 4096
	drawn := computed(t, func(a *assembler) {
		a.emit(asm.Mov.Imm(asm.R5, shift))
		a.draw()
		a.emit(asm.Mov.Reg(asm.R2, asm.R1))
	})
	var pairs [1 << shift][1 << shift]int
	before := 0
	for row := range uint64(rows) {
		at, n := 0, 0
		for i := range 1 << shift {
			if drawn(row<<shift|uint64(i)) == 0 {
				at, n = i, n+1
			}
		}
		if n != 1 {
			t.Fatalf("of row %d, %d windows are drawn", row, n)
		}
		pairs[before][at]++
		before = at
	}
	chi := 0.0
	const want = float64(rows) / (1 << (2 * shift))
	for _, row := range pairs {
		for _, n := range row {
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
	}
	// Of 63 degrees of freedom, 103.4 is the quantile of 99.9 %.
	if chi > 103.4 {
		t.Errorf("the windows are not drawn at random: chi square %.1f, %v", chi, pairs)
	}
}

// What the programs compute is what package histogram and the documents expect.
func TestProgramsComputeTheBucketsOfTheHistogram(t *testing.T) {
	bucket, log2 := computed(t, (*assembler).bucket), computed(t, (*assembler).log2)
	values := []uint64{0, 1, 127, 128, 129, maxValue - 1, maxValue}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	for range 500 {
		values = append(values, r.Uint64()>>(1+r.IntN(63)))
	}
	for _, v := range values {
		if got, want := bucket(v), bucketOf(min(v, maxValue)); got != want {
			t.Fatalf("%d is in bucket %d, want %d", v, got, want)
		}
		if got, want := log2(v), bits.Len64(v); got != want {
			t.Fatalf("%d has %d bits, want %d", v, got, want)
		}
	}
}

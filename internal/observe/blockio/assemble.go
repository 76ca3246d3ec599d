package blockio

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// Registers that keep their value over calls.
const (
	request = asm.R6 // the request
	disk    = asm.R7 // the index of its disk
	entry   = asm.R8 // what is known of the request
	kept    = asm.R9 // whatever the program needs
)

// assembler collects the instructions of a program.
type assembler struct {
	*layout
	// shared reports that all CPUs share the histograms.
	shared bool
	ins    asm.Instructions
	symbol string // of the next instruction
	labels int
}

func (a *assembler) emit(ins ...asm.Instruction) {
	for _, i := range ins {
		if a.symbol != "" {
			i, a.symbol = i.WithSymbol(a.symbol), ""
		}
		a.ins = append(a.ins, i)
	}
}

// mark gives the next instruction a name to jump to.
func (a *assembler) mark(label string) {
	if a.symbol != "" {
		a.emit(asm.Ja.Label(label))
	}
	a.symbol = label
}

// label returns a new name.
func (a *assembler) label(what string) string {
	a.labels++
	return fmt.Sprintf("%s%d", what, a.labels)
}

// load reads a member of the structure at src.
func (a *assembler) load(dst, src asm.Register, f field) {
	size := asm.DWord
	if f.size == 4 {
		size = asm.Word
	}
	a.emit(asm.LoadMem(dst, src, f.offset, size))
}

// exit ends the program.
func (a *assembler) exit() { a.emit(asm.Mov.Imm(asm.R0, 0), asm.Return()) }

// begin loads the request, and ends the program unless it is for one of the disks.
func (a *assembler) begin(tracepoint string, numbers []uint32) {
	a.emit(asm.LoadMem(request, asm.R1, int16(8*a.request[tracepoint]), asm.DWord)) //nolint:gosec // below 12
	if tracepoint == completed {
		// the last argument is how many bytes are done
		a.emit(asm.LoadMem(kept, asm.R1, int16(8*(a.request[tracepoint]+2)), asm.DWord)) //nolint:gosec // below 12
	}
	if a.diskOfRequest {
		a.load(asm.R2, request, a.disk)
	} else {
		a.load(asm.R2, request, a.queue)
		a.load(asm.R2, asm.R2, a.disk)
	}
	a.load(asm.R3, asm.R2, a.major)
	a.load(asm.R4, asm.R2, a.minor)
	a.emit(asm.LSh.Imm(asm.R3, minorBits), asm.Or.Reg(asm.R3, asm.R4))
	for i, n := range numbers {
		a.emit(asm.Mov.Imm(disk, int32(i)), asm.JEq.Imm32(asm.R3, int32(n), "ours")) //nolint:gosec // bits, of at most maxDisks
	}
	a.exit()
	a.mark("ours")
}

// element leaves the address of a map's element in R0; the program goes to missing if there is
// none. key is a register.
func (a *assembler) element(name string, key asm.Register, missing string) {
	a.emit(
		asm.StoreMem(asm.RFP, keyAt, key, asm.Word),
		asm.LoadMapPtr(asm.R1, 0).WithReference(name),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, keyAt),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, missing),
	)
}

// Places on the stack.
const (
	requestAt  = -8           // the request, as a key
	keyAt      = -16          // another key
	entryAt    = -16 - entryN // a new entry
	waitAt     = entryAt - 8
	timeAt     = waitAt - 8
	bytesAt    = timeAt - 8
	firstAt    = bytesAt - 8
	seekAt     = firstAt - 8
	distanceAt = seekAt - 8
	valueAt    = distanceAt - 8
	weightAt   = valueAt - 8
	windowAt   = weightAt - 8
	headAt     = windowAt - 8
)

// add adds src to the number at base and destroys R2. Each CPU has the number for itself, and only
// this program adds to it, which does not run twice at a time on a CPU.
func (a *assembler) add(base asm.Register, n int, src asm.Register) {
	at := int16(8 * n) //nolint:gosec // below numbers
	a.emit(asm.LoadMem(asm.R2, base, at, asm.DWord), asm.Add.Reg(asm.R2, src), asm.StoreMem(base, at, asm.R2, asm.DWord))
}

// lookup leaves in entry what is known of the request, and makes room for it if create. If there
// is none, the program counts that and ends, or goes to missing.
func (a *assembler) lookup(create bool) {
	find := func(missing string) {
		a.emit(
			asm.StoreMem(asm.RFP, requestAt, request, asm.DWord),
			asm.LoadMapPtr(asm.R1, 0).WithReference(mapRequests),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, requestAt),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, missing),
		)
	}
	found := a.label("found")
	if !create {
		find("end")
		a.emit(asm.Mov.Reg(entry, asm.R0))
		return
	}
	missing, full := a.label("missing"), a.label("full")
	find(missing)
	a.emit(asm.Ja.Label(found))
	a.mark(missing)
	a.emit(asm.Mov.Imm(asm.R1, 0))
	for i := range entryN / 8 {
		a.emit(asm.StoreMem(asm.RFP, int16(entryAt+8*i), asm.R1, asm.DWord)) //nolint:gosec // on the stack
	}
	a.emit(
		asm.LoadMapPtr(asm.R1, 0).WithReference(mapRequests),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, requestAt),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, entryAt),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
	)
	find(full)
	a.emit(asm.Ja.Label(found))
	a.mark(full)
	a.element(mapCounters, disk, "end")
	a.emit(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 8*numDropped)) // two programs add to it
	a.exit()
	a.mark(found)
	a.emit(asm.Mov.Reg(entry, asm.R0))
}

// origin leaves in the entry whose process runs, and destroys R0 to R5: the engine's, which is in a
// mount namespace of its own, somebody else's, or the kernel's, which works for anybody.
func (a *assembler) origin() {
	done := a.label("origin")
	a.emit(asm.FnGetCurrentTaskBtf.Call(), asm.StoreImm(entry, entryOrigin, originUnknown, asm.Word))
	a.load(asm.R1, asm.R0, a.taskFlags)
	a.emit(asm.And.Imm(asm.R1, kernelThread), asm.JNE.Imm(asm.R1, 0, done))
	a.load(asm.R1, asm.R0, a.nsproxy)
	a.emit(asm.JEq.Imm(asm.R1, 0, done)) // it ends
	a.load(asm.R1, asm.R1, a.mountNS)
	a.load(asm.R1, asm.R1, a.inum)
	a.emit(asm.StoreMem(asm.RFP, valueAt, asm.R1, asm.DWord), asm.Mov.Imm(asm.R1, 0))
	a.element(mapOwner, asm.R1, done)
	a.emit(
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), // of the engine; 0: not known
		asm.JEq.Imm(asm.R1, 0, done),
		asm.LoadMem(asm.R2, asm.RFP, valueAt, asm.DWord),
		asm.StoreImm(entry, entryOrigin, originOwn, asm.Word),
		asm.JEq.Reg(asm.R1, asm.R2, done),
		asm.StoreImm(entry, entryOrigin, originForeign, asm.Word),
	)
	a.mark(done)
}

// bucket leaves in R2 the bucket of the value in R1, in the layout of package histogram. It
// destroys R1, R3, R4 and R5.
func (a *assembler) bucket() {
	small, done, capped := a.label("small"), a.label("bucket"), a.label("capped")
	a.emit(
		asm.LoadImm(asm.R2, maxValue, asm.DWord),
		asm.JLE.Reg(asm.R1, asm.R2, capped),
		asm.Mov.Reg(asm.R1, asm.R2),
	)
	a.mark(capped)
	a.emit(asm.JLT.Imm(asm.R1, 2<<bucketBits, small))
	a.highest(asm.R4)
	a.emit(
		asm.Sub.Imm(asm.R4, bucketBits),
		asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Reg(asm.R2, asm.R4), asm.And.Imm(asm.R2, 1<<bucketBits-1),
		asm.Add.Imm(asm.R4, 1), asm.LSh.Imm(asm.R4, bucketBits), asm.Add.Reg(asm.R2, asm.R4),
		asm.Ja.Label(done),
	)
	a.mark(small)
	a.emit(asm.Mov.Reg(asm.R2, asm.R1))
	a.mark(done)
}

// log2 leaves in R2 how many bits the value in R1 has, which is below 1<<63. It destroys R3, R4 and R5.
func (a *assembler) log2() {
	done := a.label("log2")
	a.emit(asm.Mov.Imm(asm.R2, 0), asm.JEq.Imm(asm.R1, 0, done))
	a.highest(asm.R4)
	a.emit(asm.Mov.Reg(asm.R2, asm.R4), asm.Add.Imm(asm.R2, 1))
	a.mark(done)
}

// highest leaves in dst the number of the highest bit of R1, which is not 0 and below 1<<63, and
// destroys R2, R3 and R5. It has no jumps: values differ, and a CPU would often guess wrong.
func (a *assembler) highest(dst asm.Register) {
	a.emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Mov.Imm(dst, 0))
	for power := int32(5); power >= 0; power-- {
		half := int32(1) << power
		if half == 32 {
			a.emit(asm.LoadImm(asm.R5, 1<<32-1, asm.DWord))
		} else {
			a.emit(asm.Mov.Imm(asm.R5, 1<<half-1))
		}
		a.emit(
			asm.Sub.Reg(asm.R5, asm.R3), asm.RSh.Imm(asm.R5, 63), // 1 if R3 has a bit from half on
			asm.LSh.Imm(asm.R5, power),
			asm.RSh.Reg(asm.R3, asm.R5), asm.Add.Reg(dst, asm.R5),
		)
	}
}

package blockio

import "github.com/cilium/ebpf/asm"

// insertProgram runs when a request enters a queue: the scheduler's, or the one before a disk that is
// busy. The process that submits it runs then.
func insertProgram(a *assembler, numbers []uint32) asm.Instructions {
	a.begin(inserted, numbers)
	a.operation()
	a.sample("end")
	a.lookup(true)
	a.load(asm.R2, request, a.started)
	a.emit(
		asm.JEq.Imm(asm.R2, 0, "new"),
		asm.LoadMem(asm.R1, entry, entryInserted, asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R2, "end"), // it came back from a busy disk, and waits since then
		asm.LoadMem(asm.R1, entry, entryIssued, asm.DWord),
		asm.JLT.Reg(asm.R1, asm.R2, "new"),
		asm.StoreMem(entry, entryInserted, asm.R1, asm.DWord),
		asm.Ja.Label("end"),
	)
	a.mark("new")
	a.origin()
	a.emit(
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(entry, entryInserted, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(entry, entryIssued, asm.R1, asm.DWord),
	)
	a.mark("end")
	a.exit()
	return a.ins
}

// issueProgram runs when a request is given to the disk's driver. It counts what is known then: it
// may be that the completion is not seen.
func issueProgram(a *assembler, numbers []uint32) asm.Instructions {
	a.begin(issued, numbers)
	a.operation()
	a.sample("apart")
	a.lookup(true)
	a.load(asm.R2, request, a.started)
	a.emit(
		// The kernel uses a request again for another one. What is older than this one belongs to an
		// earlier one, which was merged into another, or whose completion was not seen.
		asm.Mov.Imm(asm.R3, 1),
		asm.LoadMem(asm.R1, entry, entryIssued, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "counted"),
		asm.JLT.Reg(asm.R1, asm.R2, "counted"),
		asm.Mov.Imm(asm.R3, 0), // the disk was busy, and this is another attempt
	)
	a.mark("counted")
	a.emit(
		asm.StoreMem(asm.RFP, firstAt, asm.R3, asm.DWord),
		asm.LoadMem(asm.R4, entry, entryInserted, asm.DWord),
		asm.JEq.Imm(asm.R4, 0, "direct"),
		asm.JGE.Reg(asm.R4, asm.R2, "queued"),
	)
	a.mark("direct")
	a.emit(
		asm.JNE.Imm(asm.R3, 0, "first"),
		asm.StoreMem(entry, entryInserted, asm.R1, asm.DWord), // it waited since the first attempt
		asm.Ja.Label("queued"),
	)
	a.mark("first")
	a.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(entry, entryInserted, asm.R1, asm.DWord))
	a.origin()
	a.mark("queued")
	a.emit(
		asm.FnKtimeGetNs.Call(), asm.StoreMem(entry, entryIssued, asm.R0, asm.DWord),
		asm.LoadMem(asm.R1, asm.RFP, firstAt, asm.DWord), asm.JEq.Imm(asm.R1, 0, "end"),
	)
	a.load(asm.R1, request, a.length)
	a.emit(
		asm.StoreMem(entry, entryBytes, asm.R1, asm.DWord), asm.StoreMem(asm.RFP, bytesAt, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 1), asm.JGT.Imm(kept, Write, "whole"), // the others are always in the sample
		asm.LoadMem(asm.R1, asm.RFP, weightAt, asm.DWord),
	)
	a.mark("whole")
	a.emit(asm.StoreMem(entry, entryWeight, asm.R1, asm.DWord))
	a.seek()
	a.count()
	a.exit()
	a.mark("apart")
	a.countAlone(opIssued, opBytes)
	a.mark("end")
	a.exit()
	return a.ins
}

// requeueProgram runs when a disk that is busy gives a request back, or what is left of it. It is
// issued again later, and of one that is not in the sample nobody knows then that it was counted.
func requeueProgram(a *assembler, numbers []uint32) asm.Instructions {
	a.begin(requeued, numbers)
	a.load(asm.R1, request, a.state)
	a.emit(asm.JEq.Imm(asm.R1, 0, "end")) // the driver gave it back before it was issued
	a.operation()
	a.sample("apart")
	a.emit(asm.Ja.Label("end"))
	a.mark("apart")
	a.countAlone(opReturned, opReturnedBytes)
	a.mark("end")
	a.exit()
	return a.ins
}

// countAlone adds a request that is not in the sample, and its bytes, to two numbers of its operation.
func (a *assembler) countAlone(requests, bytes int) {
	a.counters()
	a.load(asm.R5, request, a.length)
	a.emit(asm.Mov.Imm(asm.R1, 1))
	a.add(asm.R3, requests, asm.R1)
	a.add(asm.R3, bytes, asm.R5)
}

// sample goes to apart if the request is not in the sample; else it leaves on the stack how many
// requests it stands for, and its window, or 0 while the sample has all. Only reads and writes may
// be left out. Of one that stays although its window is left out, the weight on the stack is 0.
//
// A request is in the sample if the window of time is in which it began. It carries that with it, so
// that all programs agree without a word between them, and what belongs together is seen together.
//
// When the kernel merges two requests, they began when the older one did, which may be in another
// window. One whose insertion was left out then seems not to have waited; one that is left out
// thereafter leaves an entry of which the next request of the same address sees that it is old.
func (a *assembler) sample(apart string) {
	a.emit(
		asm.LoadMapValue(asm.R0, 0, 0).WithReference(mapSampling), // which takes no lookup
		asm.Mov.Reg(asm.R1, disk), asm.LSh.Imm(asm.R1, 3), asm.And.Imm(asm.R1, samplingN-8), asm.Add.Reg(asm.R0, asm.R1),
		asm.LoadMem(asm.R3, asm.R0, 0, asm.DWord), asm.Mov.Imm(asm.R2, 1), asm.Mov.Imm(asm.R0, 0),
	)
	a.load(asm.R1, request, a.started)
	a.emit(
		asm.JEq.Imm(asm.R1, 0, "weighed"), // the kernel takes no times of this disk's requests
		asm.RSh.Imm(asm.R1, windowBits),
		asm.Mov.Reg(asm.R4, asm.R3), asm.RSh.Imm(asm.R4, samplingFrom),
		asm.Mov.Reg(asm.R5, asm.R3), asm.RSh.Imm(asm.R5, samplingNow),
		asm.JGE.Reg(asm.R1, asm.R4, "now"),
		asm.Mov.Reg(asm.R5, asm.R3),
	)
	a.mark("now")
	a.emit(
		asm.And.Imm(asm.R5, samplingMask), asm.JEq.Imm(asm.R5, 0, "weighed"),
		asm.Mov.Reg(asm.R0, asm.R1),
	)
	a.draw()
	a.emit(
		asm.JEq.Imm(asm.R1, 0, "weighed"),
		asm.Mov.Imm(asm.R2, 0),
		asm.JLE.Imm(kept, Write, apart),
	)
	a.mark("weighed")
	a.emit(asm.StoreMem(asm.RFP, weightAt, asm.R2, asm.DWord), asm.StoreMem(asm.RFP, windowAt, asm.R0, asm.DWord))
}

// draw leaves 0 in R1 if the window in R1 is in the sample when one of 1<<R5 is, and 1<<R5 in R2. It
// destroys R4. Of each 1<<R5 windows in a row, one is, so that it is as many as are expected; a hash
// says which, so that they keep no step with a throttle or with the workload.
func (a *assembler) draw() {
	a.emit(
		asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Reg(asm.R1, asm.R5),
		asm.LoadImm(asm.R4, hashFirst, asm.DWord), asm.Mul.Reg(asm.R1, asm.R4),
		asm.Mov.Reg(asm.R4, asm.R1), asm.RSh.Imm(asm.R4, 32), asm.Xor.Reg(asm.R1, asm.R4),
		asm.LoadImm(asm.R4, hashSecond, asm.DWord), asm.Mul.Reg(asm.R1, asm.R4),
		asm.RSh.Imm(asm.R1, 32), asm.Xor.Reg(asm.R1, asm.R2),
		asm.Mov.Imm(asm.R2, 1), asm.LSh.Reg(asm.R2, asm.R5),
		asm.Mov.Reg(asm.R4, asm.R2), asm.Sub.Imm(asm.R4, 1), asm.And.Reg(asm.R1, asm.R4),
	)
}

// seek finds how far a read or write begins from the end of the one before, and whether it goes on
// where one of the last ones ended. It leaves the two counters on the stack, or 0. The first ones of
// a window in the sample have their predecessors outside of it: they only tell where streams are.
func (a *assembler) seek() {
	a.emit(
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, seekAt, asm.R1, asm.DWord),
		asm.JGT.Imm(kept, FUA, "still"),
		asm.LoadMem(asm.R1, asm.RFP, bytesAt, asm.DWord), asm.JEq.Imm(asm.R1, 0, "still"),
		asm.LoadMem(asm.R1, asm.RFP, weightAt, asm.DWord), asm.JEq.Imm(asm.R1, 0, "still"),
	)
	a.element(mapHeads, disk, "end")
	a.load(asm.R1, request, a.sector)
	a.emit(
		asm.StoreMem(asm.RFP, headAt, asm.R0, asm.DWord),
		asm.LoadMem(asm.R2, asm.RFP, bytesAt, asm.DWord), asm.RSh.Imm(asm.R2, sectorBits),
		asm.Add.Reg(asm.R2, asm.R1), // its end
		asm.LoadMem(asm.R3, asm.R0, headLast, asm.DWord),
		asm.StoreMem(asm.R0, headLast, asm.R2, asm.DWord),
		asm.Mov.Reg(asm.R4, asm.R1), asm.Sub.Reg(asm.R4, asm.R3),
		asm.JGE.Reg(asm.R1, asm.R3, "forward"),
		asm.Mov.Reg(asm.R4, asm.R3), asm.Sub.Reg(asm.R4, asm.R1),
	)
	a.mark("forward")
	a.emit(asm.StoreMem(asm.RFP, distanceAt, asm.R4, asm.DWord), asm.Mov.Imm(asm.R5, numSequential))
	for i := range headStreams {
		next := a.label("stream")
		at := int16(headEnds + 8*i) //nolint:gosec // one of a few
		a.emit(asm.LoadMem(asm.R4, asm.R0, at, asm.DWord), asm.JNE.Reg(asm.R4, asm.R1, next), asm.StoreMem(asm.R0, at, asm.R2, asm.DWord), asm.Ja.Label("sought"))
		a.mark(next)
	}
	a.emit( // the oldest stream makes room
		asm.Mov.Imm(asm.R5, numRandom),
		asm.LoadMem(asm.R3, asm.R0, headNext, asm.DWord),
		asm.Mov.Reg(asm.R4, asm.R3), asm.Add.Imm(asm.R4, 1), asm.StoreMem(asm.R0, headNext, asm.R4, asm.DWord),
		asm.And.Imm(asm.R3, headStreams-1), asm.LSh.Imm(asm.R3, 3),
		asm.Add.Reg(asm.R0, asm.R3), asm.StoreMem(asm.R0, headEnds, asm.R2, asm.DWord),
	)
	a.mark("sought")
	a.emit(
		asm.LoadMem(asm.R1, asm.RFP, windowAt, asm.DWord), asm.LoadMem(asm.R2, asm.RFP, headAt, asm.DWord),
		asm.LoadMem(asm.R3, asm.R2, headWindow, asm.DWord), asm.LoadMem(asm.R4, asm.R2, headSkip, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R3, "same"),
		asm.StoreMem(asm.R2, headWindow, asm.R1, asm.DWord), asm.Mov.Imm(asm.R4, headStreams),
	)
	a.mark("same")
	a.emit(
		asm.JEq.Imm(asm.R4, 0, "known"),
		asm.Sub.Imm(asm.R4, 1), asm.StoreMem(asm.R2, headSkip, asm.R4, asm.DWord),
		asm.Ja.Label("still"),
	)
	a.mark("known")
	a.emit(asm.StoreMem(asm.RFP, seekAt, asm.R5, asm.DWord), asm.LoadMem(asm.R1, asm.RFP, distanceAt, asm.DWord))
	a.log2()
	a.emit(asm.StoreMem(asm.RFP, distanceAt, asm.R2, asm.DWord))
	a.mark("still")
}

// count adds the request to the disk's counters.
func (a *assembler) count() {
	a.counters()
	a.emit(
		asm.LoadMem(asm.R4, entry, entryOrigin, asm.Word), asm.And.Imm(asm.R4, 3), asm.LSh.Imm(asm.R4, 4),
		asm.Add.Reg(asm.R4, asm.R0), // those of its origin
		asm.Mov.Imm(asm.R1, 1),
	)
	a.add(asm.R3, opIssued, asm.R1)
	a.add(asm.R3, opSampled, asm.R1)
	a.emit(asm.LoadMem(asm.R5, asm.RFP, bytesAt, asm.DWord))
	a.add(asm.R3, opBytes, asm.R5)
	a.emit(asm.LoadMem(asm.R1, entry, entryWeight, asm.DWord))
	a.add(asm.R3, opWeighed, asm.R1)
	a.add(asm.R4, numOrigins, asm.R1)
	a.emit(
		asm.JGT.Imm(kept, FUA, "unmoved"), // a flush, a discard and zeroing move no data
		asm.Mul.Reg(asm.R5, asm.R1),
	)
	a.add(asm.R4, numOrigins+1, asm.R5)
	a.mark("unmoved")
	a.emit(
		asm.LoadMem(asm.R1, asm.RFP, weightAt, asm.DWord), // of the window, of which seeks are drawn
		asm.LoadMem(asm.R5, asm.RFP, seekAt, asm.DWord), asm.JEq.Imm(asm.R5, 0, "end"),
		asm.LoadMem(asm.R2, asm.RFP, distanceAt, asm.DWord), asm.And.Imm(asm.R2, distances-1), asm.LSh.Imm(asm.R2, 3),
		asm.Mov.Reg(asm.R4, asm.R0), asm.Add.Reg(asm.R4, asm.R2),
	)
	a.add(asm.R4, numDistances, asm.R1)
	a.emit(asm.JEq.Imm(asm.R5, numRandom, "random"))
	a.add(asm.R0, numSequential, asm.R1)
	a.emit(asm.Ja.Label("end"))
	a.mark("random")
	a.add(asm.R0, numRandom, asm.R1)
}

// counters leaves the address of the disk's counters in R0, and of its operation's in R3.
func (a *assembler) counters() {
	a.element(mapCounters, disk, "end")
	a.emit(
		asm.Mov.Reg(asm.R3, kept), asm.And.Imm(asm.R3, 7), asm.Mul.Imm(asm.R3, 8*perOperation),
		asm.Add.Reg(asm.R3, asm.R0),
	)
}

// completeProgram runs when the driver reports that a request is done, or a part of it.
func completeProgram(a *assembler, numbers []uint32) asm.Instructions {
	a.begin(completed, numbers)
	a.load(asm.R1, request, a.length)
	a.emit(asm.JLT.Reg32(kept, asm.R1, "end")) // the rest comes later
	a.operation()
	a.sample("end")
	a.lookup(false)
	a.emit(
		asm.LoadMem(asm.R1, entry, entryIssued, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "end"), // issued before the programs were there, or a step of a flush
		asm.FnKtimeGetNs.Call(),
		asm.LoadMem(asm.R1, entry, entryIssued, asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1), asm.StoreMem(asm.RFP, timeAt, asm.R0, asm.DWord),
		asm.LoadMem(asm.R2, entry, entryInserted, asm.DWord),
		asm.Mov.Imm(asm.R3, 0),
		asm.JEq.Imm(asm.R2, 0, "direct"),
		asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Reg(asm.R3, asm.R2),
	)
	a.mark("direct")
	a.emit(
		asm.StoreMem(asm.RFP, waitAt, asm.R3, asm.DWord),
		asm.LoadMem(asm.R1, entry, entryBytes, asm.DWord), asm.StoreMem(asm.RFP, bytesAt, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(entry, entryInserted, asm.R1, asm.DWord), asm.StoreMem(entry, entryIssued, asm.R1, asm.DWord),
	)
	a.counters()
	a.emit(asm.Mov.Imm(asm.R1, 1))
	a.add(asm.R3, opSeen, asm.R1)
	a.emit(asm.LoadMem(asm.R4, entry, entryWeight, asm.DWord))
	a.add(asm.R3, opDone, asm.R4)
	for _, sum := range [][2]int16{{timeAt, opTime}, {waitAt, opWait}} {
		a.emit(asm.LoadMem(asm.R1, asm.RFP, sum[0], asm.DWord), asm.Mul.Reg(asm.R1, asm.R4))
		a.add(asm.R3, int(sum[1]), asm.R1)
	}
	for kind, value := range []int16{kindWait: waitAt, kindTime: timeAt, kindSize: bytesAt} {
		a.record(kind, value)
	}
	a.mark("end")
	a.exit()
	return a.ins
}

// operation leaves in kept what the request does.
func (a *assembler) operation() {
	a.load(asm.R1, request, a.flags)
	a.emit(asm.Mov.Reg(asm.R2, asm.R1), asm.And.Imm(asm.R2, opMask))
	for _, known := range [][2]int32{{opRead, Read}, {opFlush, Flush}, {opDiscard, Discard}} {
		next := a.label("op")
		a.emit(asm.JNE.Imm(asm.R2, known[0], next), asm.Mov.Imm(kept, known[1]), asm.Ja.Label("operation"))
		a.mark(next)
	}
	a.emit(
		asm.Mov.Imm(kept, Other), asm.JNE.Imm(asm.R2, opWrite, "operation"),
		asm.Mov.Imm(kept, Write),
		asm.And.Imm(asm.R1, int32(a.fua)), asm.JEq.Imm(asm.R1, 0, "operation"), //nolint:gosec // one bit
		asm.Mov.Imm(kept, FUA),
	)
	a.mark("operation")
}

// record adds a value on the stack to one of the operation's histograms.
func (a *assembler) record(kind int, at int16) {
	next := a.label("recorded")
	// Those of 0 are all others.
	a.emit(asm.LoadMem(asm.R1, asm.RFP, at, asm.DWord), asm.JEq.Imm(asm.R1, 0, next))
	if kind == kindSize {
		a.emit(asm.RSh.Imm(asm.R1, sectorBits))
	}
	a.bucket()
	a.emit(
		asm.StoreMem(asm.RFP, valueAt, asm.R2, asm.DWord),
		asm.Mov.Reg(asm.R1, disk), asm.Mul.Imm(asm.R1, Operations), asm.Add.Reg(asm.R1, kept),
		asm.Mul.Imm(asm.R1, kinds), asm.Add.Imm(asm.R1, int32(kind)), //nolint:gosec // one of a few
	)
	a.element(mapHistograms, asm.R1, next)
	a.emit(
		asm.LoadMem(asm.R2, asm.RFP, valueAt, asm.DWord), asm.And.Imm(asm.R2, buckets-1), asm.LSh.Imm(asm.R2, 3),
		asm.Add.Reg(asm.R0, asm.R2),
		asm.LoadMem(asm.R1, entry, entryWeight, asm.DWord),
	)
	if a.shared {
		a.emit(asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
	} else {
		a.add(asm.R0, 0, asm.R1)
	}
	a.mark(next)
}

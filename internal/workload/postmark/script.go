package postmark

// kind of an operation.
type kind uint8

const (
	nothing kind = iota // this half of transactions is left out
	readFile
	appendFile
	createFile
	deleteFile
)

// operation is what a script has decided.
type operation struct {
	kind kind
	// skipped reports that there is nothing to do: the file is full, the table is full,
	// or there is no file.
	skipped bool
	// number is the file's name, in the subdirectory of that number.
	number, directory uint32
	// bytes to read or to write.
	bytes uint32
}

// rules are what the decisions depend on.
type rules struct {
	compatible           bool
	files                int
	subdirectories       int
	minSize, maxSize     int
	readBias, createBias int
}

// script decides what is done, file by file. It is pure, and whoever carries it out
// must do so in its order.
type script struct {
	rules
	random  *random
	table   table
	created uint32
	cursor  int // of the phase that deletes
}

func newScript(r rules, random *random) *script {
	s := &script{rules: r, random: random}
	s.table.files = make([]file, 2*r.files)
	if r.subdirectories > 1 { // one is as good as none, for the original too
		s.table.directories = make([]uint32, 2*r.files)
	}
	if r.compatible {
		s.table.sparse = newSlots(2 * r.files)
	}
	return s
}

// empty reports that there is no file left.
func (s *script) empty() bool { return s.table.used == 0 }

// half decides on the first or the second half of a transaction.
func (s *script) half(i int) operation {
	if i == 0 {
		return s.readOrAppend()
	}
	return s.createOrDelete()
}

func (s *script) readOrAppend() operation {
	if s.readBias < 0 {
		return operation{}
	}
	op := operation{kind: appendFile, skipped: s.empty()}
	if s.random.below(10) < s.readBias {
		op.kind = readFile
	}
	if op.skipped {
		return op
	}
	slot := s.table.pick(s.random)
	f := s.at(slot, &op)
	switch {
	case op.kind == readFile:
		op.bytes = f.size
	case int(f.size) >= s.maxSize:
		op.skipped = true
	default:
		op.bytes = uint32(s.random.below(s.maxSize-int(f.size)) + 1)
		f.size += op.bytes
	}
	return op
}

func (s *script) createOrDelete() operation {
	if s.createBias < 0 {
		return operation{}
	}
	if s.random.below(10) < s.createBias {
		return s.create()
	}
	if s.empty() {
		return operation{kind: deleteFile, skipped: true}
	}
	return s.remove(s.table.pick(s.random))
}

// create decides on a new file.
func (s *script) create() operation {
	op := operation{kind: createFile}
	slot, ok := s.table.take()
	if !ok {
		op.skipped = true
		return op
	}
	if s.table.directories != nil {
		s.table.directories[slot] = uint32(s.random.below(s.subdirectories))
	}
	s.created++
	size := s.minSize + s.random.below(s.maxSize-s.minSize)
	s.table.files[slot] = file{size: uint32(size), number: s.created}
	op.bytes = s.at(slot, &op).size
	return op
}

// next decides which of the files that are left is deleted, if there is one.
func (s *script) next() (operation, bool) {
	if s.empty() {
		return operation{}, false
	}
	if s.table.sparse == nil {
		return s.remove(s.table.used - 1), true
	}
	for s.table.sparse.isFree(s.cursor) {
		s.cursor++
	}
	return s.remove(s.cursor), true
}

func (s *script) remove(slot int) operation {
	op := operation{kind: deleteFile}
	s.at(slot, &op)
	s.table.release(slot)
	return op
}

// at is the file in a slot, whose name goes into op.
func (s *script) at(slot int, op *operation) *file {
	f := &s.table.files[slot]
	op.number = f.number
	if s.table.directories != nil {
		op.directory = s.table.directories[slot]
	}
	return f
}

package blockio

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// field is where a member of a kernel structure is: its offset and size in bytes.
type field struct {
	offset int16
	size   uint32
}

// layout is where this kernel keeps what the programs read. It comes from the kernel's BTF, so
// that no header and no compiler is needed.
type layout struct {
	// of struct request
	queue, flags, sector, length, started, state field
	// disk is a field of the queue, or of the request if diskOfRequest.
	disk          field
	diskOfRequest bool
	// of struct gendisk
	major, minor field
	// of struct task_struct, and from there to the number of its mount namespace
	taskFlags, nsproxy, mountNS, inum field
	// request is the index of the request among the arguments of a tracepoint, by its name.
	request map[string]int
	// fua is the bit of a request's flags.
	fua uint32
}

// Tracepoints.
const (
	inserted  = "block_rq_insert"
	issued    = "block_rq_issue"
	requeued  = "block_rq_requeue"
	completed = "block_rq_complete"
)

var tracepoints = []string{inserted, issued, requeued, completed}

// readLayout reads the layout from the kernel's types.
func readLayout(spec *btf.Spec) (*layout, error) {
	l := &layout{request: map[string]int{}}
	var errs []error
	at := func(f *field, structure string, path ...string) {
		var err error
		if *f, err = find(spec, structure, path...); err != nil {
			errs = append(errs, err)
		}
	}
	at(&l.queue, "request", "q")
	at(&l.flags, "request", "cmd_flags")
	at(&l.sector, "request", "__sector")
	at(&l.length, "request", "__data_len")
	at(&l.started, "request", "start_time_ns")
	at(&l.state, "request", "state")
	if _, err := find(spec, "request_queue", "disk"); err != nil { // before Linux 5.16
		l.diskOfRequest = true
		at(&l.disk, "request", "rq_disk")
	} else {
		at(&l.disk, "request_queue", "disk")
	}
	at(&l.major, "gendisk", "major")
	at(&l.minor, "gendisk", "first_minor")
	at(&l.taskFlags, "task_struct", "flags")
	at(&l.nsproxy, "task_struct", "nsproxy")
	at(&l.mountNS, "nsproxy", "mnt_ns")
	at(&l.inum, "mnt_namespace", "ns", "inum")
	for _, name := range tracepoints {
		index, err := requestIndex(spec, name)
		if err != nil {
			errs = append(errs, err)
		}
		l.request[name] = index
	}
	bit, err := fuaBit(spec)
	l.fua = 1 << bit
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return l, nil
}

// find returns where a member is, through structures that are members themselves and anonymous
// ones.
func find(spec *btf.Spec, structure string, path ...string) (field, error) {
	var s *btf.Struct
	if err := spec.TypeByName(structure, &s); err != nil {
		return field{}, fmt.Errorf("struct %s: %w", structure, err)
	}
	var offset uint32
	var t btf.Type = s
	for _, name := range path {
		m, at, ok := member(t, name)
		if !ok || m.BitfieldSize > 0 {
			return field{}, fmt.Errorf("struct %s of this kernel has no member %s", structure, name)
		}
		offset, t = offset+at, m.Type
	}
	size, err := btf.Sizeof(t)
	if err != nil || size != 4 && size != 8 {
		return field{}, fmt.Errorf("member %v of struct %s has %d bytes, expected 4 or 8: %w", path, structure, size, errors.Join(err, errLayout))
	}
	if offset > 1<<15-1 {
		return field{}, fmt.Errorf("member %v of struct %s is too far from its start: %w", path, structure, errLayout)
	}
	return field{offset: int16(offset), size: uint32(size)}, nil //nolint:gosec // checked above
}

var errLayout = errors.New("this kernel's types are not those that are known")

// member finds a member by its name, and its offset in bytes.
func member(t btf.Type, name string) (btf.Member, uint32, bool) {
	var members []btf.Member
	switch s := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		members = s.Members
	case *btf.Union:
		members = s.Members
	}
	for _, m := range members {
		if m.Name == name {
			return m, m.Offset.Bytes(), true
		}
		if m.Name == "" {
			if inner, at, ok := member(m.Type, name); ok {
				return inner, m.Offset.Bytes() + at, true
			}
		}
	}
	return btf.Member{}, 0, false
}

// requestIndex returns which argument of a tracepoint is the request: before Linux 5.11, the
// queue was before it.
func requestIndex(spec *btf.Spec, tracepoint string) (int, error) {
	var def *btf.Typedef
	if err := spec.TypeByName("btf_trace_"+tracepoint, &def); err != nil {
		return 0, fmt.Errorf("tracepoint %s: %w", tracepoint, err)
	}
	if p, ok := btf.UnderlyingType(def).(*btf.Pointer); ok {
		if proto, ok := p.Target.(*btf.FuncProto); ok {
			for i, param := range proto.Params {
				if pointsTo(param.Type, "request") {
					return i - 1, nil // the first is the tracepoint's own
				}
			}
		}
	}
	return 0, fmt.Errorf("tracepoint %s has no request: %w", tracepoint, errLayout)
}

func pointsTo(t btf.Type, structure string) bool {
	p, ok := btf.UnderlyingType(t).(*btf.Pointer)
	if !ok {
		return false
	}
	s, ok := btf.UnderlyingType(p.Target).(*btf.Struct)
	return ok && s.Name == structure
}

// fuaBit returns the number of the bit that marks a write past the disk's cache.
func fuaBit(spec *btf.Spec) (uint64, error) {
	var e *btf.Enum
	if err := spec.TypeByName("req_flag_bits", &e); err != nil {
		return 0, fmt.Errorf("enum req_flag_bits: %w", err)
	}
	for _, v := range e.Values {
		if v.Name == "__REQ_FUA" && v.Value < 32 {
			return v.Value, nil
		}
	}
	return 0, fmt.Errorf("enum req_flag_bits has no __REQ_FUA: %w", errLayout)
}

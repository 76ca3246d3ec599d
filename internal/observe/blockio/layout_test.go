package blockio

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
)

// kernel is the part of a kernel's types that the programs need.
type kernel struct {
	// old: before Linux 5.11, tracepoints got the queue first, and the disk was the request's.
	old bool
	// change changes a structure before it is written; may be nil.
	change func(structs map[string]*btf.Struct, flags *btf.Enum)
}

var (
	u32 = &btf.Int{Name: "u32", Size: 4}
	u64 = &btf.Int{Name: "u64", Size: 8}
)

func at(name string, t btf.Type, offset uint32) btf.Member {
	return btf.Member{Name: name, Type: t, Offset: btf.Bits(8 * offset)}
}

func (k kernel) spec(t *testing.T) *btf.Spec {
	t.Helper()
	disk := &btf.Struct{Name: "gendisk", Size: 8, Members: []btf.Member{at("major", u32, 0), at("first_minor", u32, 4)}}
	queue := &btf.Struct{Name: "request_queue", Size: 64}
	request := &btf.Struct{Name: "request", Size: 256, Members: []btf.Member{
		at("q", &btf.Pointer{Target: queue}, 0),
		// in a structure without a name
		{Type: &btf.Struct{Size: 16, Members: []btf.Member{at("cmd_flags", u32, 8)}}, Offset: 8 * 16},
		at("__data_len", u32, 44), at("__sector", u64, 48), at("start_time_ns", u64, 120), at("state", u32, 136),
	}}
	if k.old {
		request.Members = append(request.Members, at("rq_disk", &btf.Pointer{Target: disk}, 128))
	} else {
		queue.Members = []btf.Member{at("disk", &btf.Pointer{Target: disk}, 56)}
	}
	number := &btf.Struct{Name: "ns_common", Size: 24, Members: []btf.Member{at("inum", u32, 16)}}
	mount := &btf.Struct{Name: "mnt_namespace", Size: 64, Members: []btf.Member{at("ns", number, 8)}}
	proxy := &btf.Struct{Name: "nsproxy", Size: 64, Members: []btf.Member{at("mnt_ns", &btf.Pointer{Target: mount}, 24)}}
	task := &btf.Struct{Name: "task_struct", Size: 4096, Members: []btf.Member{at("flags", u32, 44), at("nsproxy", &btf.Pointer{Target: proxy}, 2048)}}
	flags := &btf.Enum{Name: "req_flag_bits", Size: 4, Values: []btf.EnumValue{{Name: "__REQ_SYNC", Value: 11}, {Name: "__REQ_FUA", Value: 17}}}
	if k.change != nil {
		structs := map[string]*btf.Struct{}
		for _, s := range []*btf.Struct{request, queue, disk, task, proxy, mount, number} {
			structs[s.Name] = s
		}
		k.change(structs, flags)
	}
	params := []btf.FuncParam{{Name: "__data", Type: &btf.Pointer{Target: (*btf.Void)(nil)}}}
	if k.old {
		params = append(params, btf.FuncParam{Name: "q", Type: &btf.Pointer{Target: queue}})
	}
	params = append(params, btf.FuncParam{Name: "rq", Type: &btf.Pointer{Target: request}})
	types := []btf.Type{task, flags}
	for _, name := range tracepoints {
		proto := &btf.FuncProto{Return: (*btf.Void)(nil), Params: params}
		types = append(types, &btf.Typedef{Name: "btf_trace_" + name, Type: &btf.Pointer{Target: proto}})
	}
	b, err := btf.NewBuilder(types, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestTheLayoutIsThatOfTheKernel(t *testing.T) {
	want := layout{
		queue: field{0, 8}, flags: field{24, 4}, sector: field{48, 8}, length: field{44, 4}, started: field{120, 8}, state: field{136, 4}, disk: field{56, 8},
		major: field{0, 4}, minor: field{4, 4}, taskFlags: field{44, 4}, nsproxy: field{2048, 8}, mountNS: field{24, 8}, inum: field{24, 4},
		request: map[string]int{inserted: 0, issued: 0, requeued: 0, completed: 0}, fua: 1 << 17,
	}
	old := want
	old.disk, old.diskOfRequest, old.request = field{128, 8}, true, map[string]int{inserted: 1, issued: 1, requeued: 1, completed: 1}
	for name, c := range map[string]struct {
		kernel kernel
		want   layout
	}{"since Linux 5.16": {kernel{}, want}, "an old one": {kernel{old: true}, old}} {
		got, err := readLayout(c.kernel.spec(t))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(layout{}, field{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		for _, program := range []func(*assembler, []uint32) int{
			func(a *assembler, n []uint32) int { return len(insertProgram(a, n)) },
			func(a *assembler, n []uint32) int { return len(issueProgram(a, n)) },
			func(a *assembler, n []uint32) int { return len(requeueProgram(a, n)) },
			func(a *assembler, n []uint32) int { return len(completeProgram(a, n)) },
		} {
			one, many := program(&assembler{layout: got}, make([]uint32, 1)), program(&assembler{layout: got}, make([]uint32, maxDisks))
			if many-one != 2*(maxDisks-1) || many > 1000 {
				t.Errorf("%s: a program has %d instructions for a disk and %d for %d", name, one, many, maxDisks)
			}
		}
	}
}

func TestAnUnknownLayoutIsRefused(t *testing.T) {
	for want, change := range map[string]func(structs map[string]*btf.Struct, flags *btf.Enum){
		"struct request of this kernel has no member __sector": func(s map[string]*btf.Struct, _ *btf.Enum) { s["request"].Members[3].Name = "sector" },
		"has 1 bytes, expected 4 or 8":                         func(s map[string]*btf.Struct, _ *btf.Enum) { s["gendisk"].Members[0].Type = &btf.Int{Size: 1} },
		"is too far from its start": func(s map[string]*btf.Struct, _ *btf.Enum) {
			s["task_struct"].Members[0].Offset, s["task_struct"].Size = 8*40_000, 50_000
		},
		"has no __REQ_FUA":                         func(_ map[string]*btf.Struct, e *btf.Enum) { e.Values = e.Values[:1] },
		"tracepoint block_rq_issue has no request": func(s map[string]*btf.Struct, _ *btf.Enum) { s["request"].Name = "rq" },
	} {
		if _, err := readLayout(kernel{change: change}.spec(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// More than the maps have room for is shared by all CPUs, and bounded.
func TestMapsAreBounded(t *testing.T) {
	few, many := mapSpecs(1, 1024, 4), mapSpecs(maxDisks, maxRequests, 256)
	if few[mapHistograms].Type.String() != "PerCPUArray" || many[mapHistograms].Type.String() != "Array" {
		t.Errorf("the histograms are %s and %s", few[mapHistograms].Type, many[mapHistograms].Type)
	}
	for name, m := range many {
		bytes := uint64(m.ValueSize+m.KeySize) * uint64(m.MaxEntries)
		if m.Type.String() == "PerCPUArray" {
			bytes *= 256
		}
		if bytes > maxHistograms {
			t.Errorf("%s takes %d bytes", name, bytes)
		}
	}
}

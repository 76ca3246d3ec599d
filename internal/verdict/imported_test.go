package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
)

const mb = 1e6

// rates is what a tool reported: bandwidths by operation.
func rates(bandwidths map[string]float64) result.Measurement {
	m := result.Measurement{Metrics: result.Metrics{}}
	for op, rate := range bandwidths {
		m.Metrics.Set(op+".bandwidth", result.BytesPerSecond, rate)
		if !strings.Contains(op, "iB.") {
			m.Operations = append(m.Operations, op)
		}
	}
	return m
}

// sequentialFio is an imported fio that went through a file once, without the page cache.
func sequentialFio(block float64, options string) result.Measurement {
	m := rates(map[string]float64{"write": 50 * mb})
	m.Metrics.Set("write.ios", result.Count, 1000)
	m.Metrics.Set("write.bytes", result.Bytes, 1000*block)
	m.Input = "[seq]\ndirect=1\nrw=write\n" + options
	m.DirectIO = &result.DirectIO{Requested: true, Effective: result.DirectUnknown}
	return m
}

// Each accusation has an honest twin, which has only NoDeviceEvidence.
func TestWhatAnImportedReportTellsIsJudged(t *testing.T) {
	san := map[string]float64{"write": 1000 * mb, "read": 1900 * mb, "reread": 400 * mb}
	postmark := map[string]float64{"read": 14 * mb, "create": 15 * mb, "transactions": 1}
	for name, c := range map[string]struct {
		measurement result.Measurement
		printed     Printed
		want        []string
	}{
		"faster than the link": {rates(san), Printed{LinkBytesPerSecond: 425 * mb}, []string{"Invalidates ImpossibleUncached read", "Invalidates ImpossibleUncached write"}},
		"as fast as the link":  {rates(san), Printed{LinkBytesPerSecond: 1900 * mb}, nil},
		"an unknown link":      {rates(san), Printed{}, nil},
		"one cell of a matrix is faster": {rates(map[string]float64{"read": 400 * mb, "read.64KiB.4KiB": 2000 * mb}), Printed{LinkBytesPerSecond: 425 * mb},
			[]string{"Qualifies ImpossibleUncached read"}},
		"a file that memory holds":   {rates(san), Printed{FileBytes: gib / 2, MemoryBytes: 12 * gib, ReadsBack: true}, []string{"Qualifies WorkingSetTooSmall read", "Qualifies WorkingSetTooSmall reread"}},
		"a file of twice the memory": {rates(san), Printed{FileBytes: 24 * gib, MemoryBytes: 12 * gib, ReadsBack: true}, nil},
		"direct I/O of a small file": {rates(san), Printed{FileBytes: gib / 2, MemoryBytes: 12 * gib}, nil},
		"direct I/O and stdio": {rates(map[string]float64{"write": mb, "read": mb, "fwrite": mb, "freread": mb}), Printed{Direct: true, Unsynced: true, ReadsBack: true, FileBytes: gib / 2, MemoryBytes: 12 * gib},
			[]string{"Qualifies FromMemory fwrite", "Qualifies WorkingSetTooSmall freread"}},
		"iozone's other operations": {rates(map[string]float64{"pwrite": mb, "pread": mb, "mixed": mb}), Printed{Unsynced: true, ReadsBack: true, FileBytes: gib / 2, MemoryBytes: 12 * gib},
			[]string{"Qualifies FromMemory mixed", "Qualifies FromMemory pwrite", "Qualifies WorkingSetTooSmall pread"}},
		"writes that nothing syncs":    {rates(san), Printed{Unsynced: true}, []string{"Qualifies FromMemory write"}},
		"writes of unknown options":    {rates(san), Printed{MayBeUnsynced: true}, nil},
		"those of less than memory":    {rates(san), Printed{MayBeUnsynced: true, FileBytes: gib, MemoryBytes: gib}, []string{"Qualifies FromMemory write"}},
		"PostMark":                     {rates(postmark), Printed{WrittenBytes: 3 * gib, ReadsBack: true, Unsynced: true}, []string{"Qualifies FromMemory create", "Qualifies FromMemory transactions", "Qualifies FromMemory read"}},
		"PostMark in a large memory":   {rates(postmark), Printed{WrittenBytes: 3 * gib, ReadsBack: true, MemoryBytes: 8 * gib}, []string{"Invalidates FromMemory read", "Qualifies FromMemory transactions"}},
		"PostMark beyond its memory":   {rates(postmark), Printed{WrittenBytes: 30 * gib, ReadsBack: true, MemoryBytes: 8 * gib}, nil},
		"8 KiB at a time":              {sequentialFio(8<<10, "bs=8k\n"), Printed{}, []string{"Qualifies BlockSizeLimited write"}},
		"1 MiB at a time":              {sequentialFio(1<<20, "bs=1m\n"), Printed{}, nil},
		"8 KiB, many at a time":        {sequentialFio(8<<10, "bs=8k\niodepth=32\n"), Printed{}, nil},
		"8 KiB at a time, of two jobs": {sequentialFio(8<<10, "numjobs=2\n"), Printed{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range Judge(Facts{Measurement: c.measurement, Imported: true, Printed: c.printed}) {
				if v.Sentence == "" || v.Settle == "" {
					t.Errorf("%+v", v)
				}
				if v.Name != NoDeviceEvidence {
					got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Effect, v.Name, v.Operation)))
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

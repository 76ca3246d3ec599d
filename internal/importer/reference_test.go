package importer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/report"
)

// The figures of the experiments that puzzled those who published them, in texts of our own:
// what they missed is a verdict.
func TestFiguresThatPuzzledTheirPublishersHaveVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		options Options
		want    []string
	}{
		"iozone of a file of 512 MiB with 12 GiB of memory, behind 2 × 2 Gb/s": {
			corpus + "/iozone-san.txt", Options{Tool: "iozone", LinkBytesPerSecond: 425e6, MemoryBytes: 12 << 30},
			[]string{
				"write: invalid: ImpossibleUncached; qualified: FromMemory, NoDeviceEvidence", "rewrite: invalid: ImpossibleUncached; qualified: FromMemory, NoDeviceEvidence",
				"read: invalid: ImpossibleUncached; qualified: NoDeviceEvidence, WorkingSetTooSmall", "reread: invalid: ImpossibleUncached; qualified: NoDeviceEvidence, WorkingSetTooSmall",
			},
		},
		"the same with -e, on the disks themselves": {
			corpus + "/iozone-san-honest.txt", Options{Tool: "iozone", LinkBytesPerSecond: 425e6, MemoryBytes: 1 << 28},
			[]string{"write: qualified: NoDeviceEvidence", "rewrite: qualified: NoDeviceEvidence", "read: qualified: NoDeviceEvidence", "reread: qualified: NoDeviceEvidence"},
		},
		"PostMark, whose pool did not read": {
			"testdata/postmark.txt", Options{Tool: "postmark"},
			[]string{
				"transactions: qualified: FromMemory, NoDeviceEvidence", "create: qualified: FromMemory, NoDeviceEvidence", "read: qualified: FromMemory, NoDeviceEvidence",
				"append: qualified: FromMemory, NoDeviceEvidence", "delete: qualified: NoDeviceEvidence",
			},
		},
		"writes of 8 KiB, of which a ceiling was made": {
			corpus + "/fio-8-KiB.json", Options{Tool: "fio"}, []string{"write: qualified: BlockSizeLimited, NoDeviceEvidence"},
		},
		"writes of 1 MiB": {
			corpus + "/fio-1-MiB.json", Options{Tool: "fio"}, []string{"write: qualified: NoDeviceEvidence"},
		},
		"bonnie with a file of 4 GiB in 8 GiB of memory": {
			"../workload/bonnie/testdata/bonnie-quoted.txt", Options{Tool: "bonnie", MemoryBytes: 8 << 30},
			[]string{
				"write: qualified: FromMemory, NoDeviceEvidence", "rewrite: qualified: FromMemory, NoDeviceEvidence", "read: qualified: NoDeviceEvidence, WorkingSetTooSmall",
				"seek: qualified: NoDeviceEvidence, WorkingSetTooSmall", "write.char: qualified: FromMemory, NoDeviceEvidence", "read.char: qualified: NoDeviceEvidence, WorkingSetTooSmall",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Summary([]File{{Name: c.file, Content: text}}, c.options)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range report.Shown(s.Rows) {
				var got []string
				for _, op := range report.Operations(row) {
					got = append(got, fmt.Sprintf("%s: %s", op, report.Worth(row, op)))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: %s", row.Target, diff)
				}
			}
		})
	}
}

func TestWhatIsPooledOrLeftOutIsNoted(t *testing.T) {
	files := corpusFiles(t)
	for name, want := range map[string]string{
		"fio-equal-headings.md":         "3 reports are taken for repeats of one measurement (Volume A)",
		"bonnie-csv-equal-titles.txt":   "2 reports are taken for repeats of one measurement (Ext4, noatime)",
		"postmark-same-location.txt":    "2 reports are taken for repeats of one measurement (/zfs)",
		"fio-status-interval.json":      "2 earlier states of the same run are left out",
		"fio-clients.json":              "All clients is fio's sum of all 2 machines",
		"fio-gtod-reduce.json":          "fio measured no latencies, as with gtod_reduce",
		"fio-no-percentiles.json":       "fio printed none",
		"iozone-throughput.txt":         "throughput mode: what 4 processes did together",
		"bonnie-1.97.txt":               "took less than 0.5 s",
		"bonnie-classic-half-empty.md":  "report 2 of a file (pi) has no rate and no row",
		"fio-continue-on-error.json":    "3 I/Os failed, and fio went on",
		"iozone-two-runs-no-banner.txt": "",
		"fio-3.1-no-N.json":             "percentiles are of completion latency",
		"fio-3.16-lat-percentiles.json": "no histograms",
	} {
		s, err := Summary([]File{{Name: name, Content: files[name]}}, Options{Tool: toolOf(name)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(s.Imported.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("%s: %q is not in %q", name, want, s.Imported.Notes)
		}
	}
	for name := range files {
		s, err := Summary([]File{{Name: name, Content: files[name]}}, Options{Tool: toolOf(name)})
		if err != nil {
			continue
		}
		notes := strings.Join(s.Imported.Notes, "\n")
		if strings.Contains(notes, "gtod_reduce") != (name == "fio-gtod-reduce.json") {
			t.Errorf("%s: %s", name, notes)
		}
	}
}

// Whatever the texts, they become rows or a clear error.
func FuzzSummary(f *testing.F) {
	for name, content := range corpusFiles(f) {
		f.Add(toolOf(name), content)
	}
	f.Fuzz(func(t *testing.T, tool string, content []byte) {
		if !slices.Contains(Tools(), tool) {
			return
		}
		s, err := Summary([]File{{Name: "f", Content: content}}, Options{Tool: tool})
		if err != nil {
			clearly(t, "f", err)
			return
		}
		if len(s.Rows) == 0 || s.Stored == 0 {
			t.Errorf("no error and no row: %+v", s)
		}
		for _, row := range s.Rows {
			if strings.ContainsAny(row.Target, "\n\r\t\x1b\x00") {
				t.Errorf("target %q", row.Target)
			}
		}
	})
}

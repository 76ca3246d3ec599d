package importer

import (
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/workload/fio"
)

// parseFio returns a table for each run of fio, whose jobs are parts. Their names tell runs
// apart that have no title, but do not tell what was measured. Where a run stands in other JSON
// tells runs apart, too, but what stands at the same place may be anything.
func parseFio(output []byte) ([]table, error) {
	found, err := fio.Parse(output)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, r := range found {
		t := table{name: strings.Join(strings.Fields(r.Title+" "+r.Within+" "+r.Machine), " "), section: r.Section, apart: r.Apart, titled: r.Title != "" && r.Within == "", machine: r.Machine, sum: r.Sum, settings: r.Settings, measurement: r.Measurement}
		if t.name == "" {
			var jobs []string
			for _, p := range r.Measurement.Parts {
				if !slices.Contains(jobs, p.Name) && !strings.Contains(p.Name, " + ") {
					jobs = append(jobs, p.Name)
				}
			}
			t.name, t.howOnly = strings.Join(jobs, ","), true
		}
		t.printed.Unsynced = unsynced(r.Measurement.Input)
		tables = append(tables, t)
	}
	return tables, nil
}

var (
	direct = regexp.MustCompile(`(?m)^direct=1$`)
	synced = regexp.MustCompile(`(?m)^(?:end_fsync|fsync|fdatasync|fsync_on_close|sync|sync_file_range)=(?:[^0n]|0?[1-9])`)
)

// unsynced reports whether a job file, if it is known, writes to the page cache and leaves the
// data there.
func unsynced(input string) bool {
	return input != "" && !direct.MatchString(input) && !synced.MatchString(input)
}

func likeFio(text string) bool {
	return strings.Contains(text, `"fio version"`) || strings.Contains(text, "fio-") && (strings.Contains(text, "ioengine=") || strings.HasPrefix(text, "3;fio-")) || strings.Contains(text, "clat (") && strings.Contains(text, "groupid=")
}

package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/verdict"
	"storagebench.io/storagebench/internal/workload/iozone"
)

// parseIozone returns a table for each of iozone's runs. Their command lines
// distinguish them, but do not tell what was measured.
func parseIozone(output []byte) ([]table, error) {
	found, err := iozone.Parse(output)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, r := range found {
		t := table{name: r.Title, section: r.Section, apart: r.Apart, titled: r.Title != "", settings: r.Settings, typed: r.Typed, measurement: r.Measurement}
		if t.name == "" {
			t.name, t.howOnly = r.Command, true
		}
		t.printed = verdict.Printed{FileBytes: float64(r.LargestFile), ReadsBack: true, Direct: r.Direct, Unsynced: r.Unsynced, MayBeUnsynced: r.Command == "" && !r.Flushed}
		tables = append(tables, t)
	}
	return tables, nil
}

func likeIozone(text string) bool {
	return strings.Contains(text, "Iozone: Performance Test") || strings.Contains(text, "Children see throughput for") || strings.Contains(text, "  reclen ")
}

package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/workload/iozone"
)

// parseIozone makes a table of each of iozone's. A command line tells them apart, and
// does not say what was measured.
func parseIozone(output []byte) ([]table, error) {
	found, err := iozone.Parse(output)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, t := range found {
		tables = append(tables, table{name: t.Title, howOnly: true, measurement: t.Measurement})
	}
	return tables, nil
}

func likeIozone(text string) bool {
	return strings.Contains(text, "Iozone: Performance Test")
}

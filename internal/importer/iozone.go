package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/workload/iozone"
)

// parseIozone returns a table for each of iozone's tables. Their command lines
// distinguish them, but do not tell what was measured.
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

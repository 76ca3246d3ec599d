package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/workload/bonnie"
)

// parseBonnie returns a table for each of bonnie's tables. Its name is the title,
// or else the machine's name, which users set to what they measure.
func parseBonnie(output []byte) ([]table, error) {
	found, err := bonnie.Parse(output)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, t := range found {
		name := t.Title
		if name == "" {
			name = clip(t.Machine)
		}
		tables = append(tables, table{name: name, measurement: t.Measurement})
	}
	return tables, nil
}

func likeBonnie(text string) bool {
	return strings.Contains(text, "Sequential Output") || strings.Contains(text, "1.97,1.97,") || strings.Contains(text, "1.98,2.00")
}

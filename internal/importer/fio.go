package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload/fio"
)

// parseFio returns a table for each job, if there are several, and one for all of
// them if they ran together. A total over groups that ran one after the other would
// be meaningless.
func parseFio(output []byte) ([]table, error) {
	m, err := fio.Parse(output)
	if err != nil {
		return nil, err
	}
	if len(m.Parts) == 1 {
		return []table{{measurement: m}}, nil
	}
	var tables []table
	if !strings.Contains(strings.Join(m.Notes, "\n"), "one after the other") {
		tables = append(tables, table{measurement: m})
	}
	for _, part := range m.Parts {
		tables = append(tables, table{part: part.Name, measurement: result.Measurement{
			Metrics: part.Metrics, Histograms: part.Histograms, Notes: m.Notes,
		}})
	}
	return tables, nil
}

func likeFio(text string) bool {
	return strings.Contains(text, `"fio version"`) || strings.Contains(text, "fio-") && (strings.Contains(text, "ioengine=") || strings.HasPrefix(text, "3;fio-"))
}

package importer

import (
	"strings"

	"storagebench.io/storagebench/internal/workload/fio"
)

// parseFio returns one table, whose jobs are parts.
func parseFio(output []byte) ([]table, error) {
	m, err := fio.Parse(output)
	if err != nil {
		return nil, err
	}
	return []table{{measurement: m}}, nil
}

func likeFio(text string) bool {
	return strings.Contains(text, `"fio version"`) || strings.Contains(text, "fio-") && (strings.Contains(text, "ioengine=") || strings.HasPrefix(text, "3;fio-"))
}

package report

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"

	"storagebench.io/storagebench/internal/result"
)

// CSV writes one line for each row and metric, in SI base units, for programs. What a
// metric lacks, such as an interval with too few trials, is empty; verdicts says what the number
// is worth. Of n trials, bounds only gave a lower bound; at_least says that the median is one.
func CSV(w io.Writer, s result.Summary) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"target", "node", "workload", "variant", "metric", "unit", "n", "median", "low", "high", "pooled", "part", "verdicts", "bounds", "at_least"}}
	for _, row := range s.Rows {
		for _, name := range slices.Sorted(maps.Keys(row.Metrics)) {
			e := row.Metrics[name]
			lines = append(lines, []string{
				row.Target, row.Node, row.Workload, row.Variant, name, e.Unit, strconv.Itoa(e.N),
				plain(&e.Median), plain(e.Low), plain(e.High), plain(e.Pooled), row.Part, Worth(row.Verdicts, operationOf(row, name)), strconv.Itoa(e.Bounds), strconv.FormatBool(e.AtLeast),
			})
		}
	}
	return out.WriteAll(lines)
}

func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

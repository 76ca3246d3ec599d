package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"storagebench.io/storagebench/internal/result"
)

// cellMetric matches the name of a cell of a matrix:
// write.64MiB.4KiB.bandwidth.
var cellMetric = regexp.MustCompile(`^(.+)\.(\d{1,19}(?:[KMGTPE]i)?B)\.(\d{1,19}(?:[KMGTPE]i)?B)\.bandwidth$`)

// grid is one operation's matrix: medians by the names of file size and record size.
type grid map[string]map[string]result.Estimate

// Matrix writes one table per operation for each row that was measured by file size and
// record size: medians, with file sizes as lines and record sizes as columns. It writes
// nothing for other rows.
func Matrix(w io.Writer, s result.Summary) error {
	for _, row := range s.Rows {
		grids := gridsOf(row)
		for _, op := range inOrder(row, grids) {
			fmt.Fprintf(w, "\n%s of %s on %s at %s: median of %s, by file and record size\n", op, strings.TrimSuffix(row.Workload+"."+row.Variant, "."), row.Target, row.Node, cellTrials(row, op))
			if err := grids[op].write(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// cellTrials is of how many trials the cells of an operation are: not all trials need to have
// the same cells.
func cellTrials(row result.Row, op string) string {
	least, most := row.N, 0
	for name, e := range row.Metrics {
		if m := cellMetric.FindStringSubmatch(name); len(m) > 1 && m[1] == op {
			least, most = min(least, e.N), max(most, e.N)
		}
	}
	if least < most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return strconv.Itoa(most)
}

func gridsOf(row result.Row) map[string]grid {
	grids := map[string]grid{}
	for name, e := range row.Metrics {
		m := cellMetric.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		op, file, record := m[1], m[2], m[3]
		if grids[op] == nil {
			grids[op] = grid{}
		}
		if grids[op][file] == nil {
			grids[op][file] = map[string]result.Estimate{}
		}
		grids[op][file][record] = e
	}
	return grids
}

// inOrder returns the operations that have a grid: in the engine's order, then the
// others by name.
func inOrder(row result.Row, grids map[string]grid) []string {
	var out []string
	for _, op := range row.Operations {
		if grids[op] != nil {
			out = append(out, op)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(grids)) {
		if !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	return out
}

func (g grid) write(w io.Writer) error {
	records := map[string]bool{}
	for _, line := range g {
		for record := range line {
			records[record] = true
		}
	}
	columns := bySize(records)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "FILE\t%s\t\n", strings.Join(columns, "\t"))
	for _, file := range bySize(g) {
		fmt.Fprint(tw, file)
		for _, record := range columns {
			text := "-"
			if v, ok := g[file][record]; ok {
				text = Bounded(v, BytesPerSecond(v.Median))
			}
			fmt.Fprint(tw, "\t", text)
		}
		fmt.Fprintln(tw, "\t")
	}
	return tw.Flush()
}

// bySize sorts names of sizes by the sizes.
func bySize[V any](names map[string]V) []string {
	return slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizeOf(a), sizeOf(b)), strings.Compare(a, b))
	})
}

// sizeOf parses the name of a size, like 64MiB.
func sizeOf(name string) float64 {
	digits := strings.TrimRight(name, "KMGTPEiB")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	if unit := name[len(digits):]; unit != "B" {
		for range strings.IndexByte("KMGTPE", unit[0]) + 1 {
			n *= 1024
		}
	}
	return n
}

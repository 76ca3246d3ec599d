package report

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// Shown returns the rows without those of workloads whose operations are only shown part by
// part, which have nothing but the counters of the disks and the like.
func Shown(rows []result.Row) []result.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r result.Row) bool {
		return r.Part == "" && len(Operations(r)) == 0 && hasParts(rows, r)
	})
}

// hasParts reports whether parts of what a row measured have rows.
func hasParts(rows []result.Row, whole result.Row) bool {
	return slices.ContainsFunc(rows, func(r result.Row) bool {
		return r.Part != "" && r.Target == whole.Target && r.Workload == whole.Workload && r.Variant == whole.Variant && r.Node == whole.Node
	})
}

// PartName is what a table calls the part of a row: (all) for the sum of parts that have rows
// of their own.
func PartName(rows []result.Row, row result.Row) string {
	switch {
	case row.Part != "":
		return row.Part
	case hasParts(rows, row):
		return "(all)"
	default:
		return "-"
	}
}

// WithPart adds the name of a part to that of a workload: oltp[log].
func WithPart(workload, part string) string {
	if part == "" {
		return workload
	}
	return workload + "[" + part + "]"
}

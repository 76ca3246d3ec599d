package stats

import (
	"cmp"
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// maxRowVerdicts is how many verdicts a row has. No honest trial has so many.
const maxRowVerdicts = 64

// verdictsOf returns the verdicts on a trial, or, if it has parts, those on what the row of one shows: a
// part that only writes has none on reads, and a mixture that is in no row none on operations.
func verdictsOf(t result.TrialSummary, part string) []result.Verdict {
	if len(t.Parts) == 0 {
		return t.Verdicts
	}
	var out []result.Verdict
	for _, v := range t.Verdicts {
		if v.OnRow(part) && (v.Operation == "" || slices.Contains(t.Operations, v.Operation)) {
			v.Parts = nil
			out = append(out, v)
		}
	}
	return out
}

// addVerdicts adds a trial's verdicts to a row's. A verdict that invalidates one of the trials
// invalidates the row's number, which is made of all of them.
func addVerdicts(row []result.RowVerdict, trial []result.Verdict) []result.RowVerdict {
	for _, v := range trial {
		i := slices.IndexFunc(row, func(r result.RowVerdict) bool { return r.Name == v.Name && r.Operation == v.Operation })
		switch {
		case i < 0 && len(row) == maxRowVerdicts:
		case i < 0:
			row = append(row, result.RowVerdict{Verdict: v, Trials: 1})
		case v.Effect == result.Invalidates && row[i].Effect != result.Invalidates:
			row[i] = result.RowVerdict{Verdict: v, Trials: row[i].Trials + 1}
		default:
			row[i].Trials++
		}
	}
	return row
}

// sortVerdicts sorts those that invalidate first, then by name and operation.
func sortVerdicts(row []result.RowVerdict) {
	slices.SortFunc(row, func(a, b result.RowVerdict) int {
		if a.Effect != b.Effect {
			if a.Effect == result.Invalidates {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Operation, b.Operation))
	})
}

// shortened stands for the sentence of a verdict in a run that has too many.
const shortened = "See the worker's summary."

// shortenVerdicts drops the sentences and the evidence of a row's verdicts when there is no
// more room. They are still in its worker's summary.
func (f *Fold) shortenVerdicts(row *result.Row) {
	size := 0
	for _, v := range row.Verdicts {
		size += len(v.Sentence) + len(v.Settle)
		for name, m := range v.Evidence {
			size += len(name) + len(m.Unit) + 40 // the value, and JSON
		}
	}
	if f.verdicts+size <= maxVerdicts {
		f.verdicts += size
		return
	}
	for i := range row.Verdicts {
		v := &row.Verdicts[i]
		v.Sentence, v.Settle, v.Evidence = shortened, "", nil
	}
}

package verdict

import (
	"fmt"
	"regexp"
	"slices"

	"storagebench.io/storagebench/internal/result"
)

// wholes are operations that consist of others, which are reported beside them: PostMark's transactions, and
// filesync's files. Of their parts, those that move data or sync it are listed; what only changes names is
// as much in memory as they are.
var wholes = map[string][]string{
	"transactions": {"create", "read", "append"},
	"filesync":     {"write", "sync"},
}

// ofData are the verdicts that say where data came from or went to.
var ofData = []string{MemoryBacked, CachedBelow, ThinReads, DataReduced, FromMemory, ImpossibleUncached, WorkingSetTooSmall}

// ofWholes returns for each whole the verdicts on its parts that take a share of its time which is bad: that of parts
// with that verdict, and for an invalid number that of those which it invalidates. If times are not known, a number is
// invalid if all of its parts are.
func ofWholes(f *Facts, judged []result.Verdict) []result.Verdict {
	var out []result.Verdict
	for _, whole := range f.operations() {
		parts := slices.DeleteFunc(slices.Clone(wholes[whole]), func(op string) bool { return !slices.Contains(f.operations(), op) })
		for _, name := range ofData {
			if v, bad := f.ofWhole(parts, name, judged); bad {
				v.Operation = whole
				out = append(out, v)
			}
		}
	}
	return out
}

// ofWhole is the verdict of a name on the part that has most of the time of those with it, with the effect that
// it has on all parts together.
func (f *Facts) ofWhole(parts []string, name string, judged []result.Verdict) (v result.Verdict, bad bool) {
	var all, affected, invalid, most float64
	known := !slices.ContainsFunc(parts, func(op string) bool { return f.took(op) == 0 })
	for _, op := range parts {
		took := 1.0
		if known {
			took = f.took(op)
		}
		all += took
		i := slices.IndexFunc(judged, func(j result.Verdict) bool { return j.Name == name && j.Operation == op })
		if i < 0 {
			continue
		}
		affected += took
		if judged[i].Effect == result.Invalidates {
			invalid += took
		}
		if took >= most {
			v, most = judged[i], took
		}
	}
	if all == 0 {
		return v, false
	}
	if e, _ := effect(invalid / all); e == result.Invalidates && (known || invalid == all) {
		v.Effect = e
		return v, true
	}
	v.Effect = result.Qualifies
	_, bad = effect(affected / all)
	return v, bad
}

// took is the time that an operation took in all; 0: that is not known. Of operations that are not counted, each
// takes part in the whole as often as the others.
func (f *Facts) took(op string) float64 {
	return max(1, f.value(op+".count")) * f.value(op+".latency.mean")
}

// mixes is a job of fio whose threads read and write by turns.
var mixes = regexp.MustCompile(`(?m)^(?:rw|readwrite)=(?:rand)?(?:rw|readwrite)$`)

// ofMixtures returns, for each row whose threads read and write by turns, what decides the time of one of both and is not
// said of the other: as many as are read are written, in a fixed ratio, so that the rate of both is decided.
func ofMixtures(f *Facts, rows []*Facts, judged []result.Verdict) []result.Verdict {
	if !slices.ContainsFunc(f.Measurement.Parts, func(p result.Part) bool { return len(p.Operations) > 0 }) {
		rows = []*Facts{f}
	}
	var out []result.Verdict
	for _, r := range rows {
		if len(r.jobTexts()) != 1 || !mixes.MatchString(r.Measurement.Input) {
			continue
		}
		name := ""
		if r.row != nil {
			name = r.row.name
		}
		for _, half := range []struct{ one, other string }{{"read", "write"}, {"write", "read"}} {
			for _, v := range judged {
				decides := v.Name == Throttled || v.Effect == result.Invalidates && (v.Name == UnsafeConfiguration || slices.Contains(ofData, v.Name))
				if !decides || v.Operation != half.one || !v.OnRow(name) {
					continue
				}
				v.Operation, v.Effect = half.other, result.Qualifies
				v.Sentence = fmt.Sprintf("The same threads also %s, in a fixed ratio, so that this decides both rates: %s", half.one, v.Sentence)
				out = append(out, v)
				if r.row != nil {
					out[len(out)-1].Parts = []string{name}
				}
			}
		}
	}
	return out
}

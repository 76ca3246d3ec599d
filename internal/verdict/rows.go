package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// A trial of fio can have several jobs, each of which is a row. What is true of all of them together is lost in them, or
// sticks to a job that it is not about: of 1 GiB from a disk and 64 MiB from memory, 6 % are from memory, and so is all of the
// second job's number. So rows are judged one by one, as far as their own text and numbers tell.

// row is what a row of jobs knows of the rest of its trial.
type row struct {
	name string
	// whole is the trial. jobs are those of the row, one or those of a sum, and others the trial's other ones.
	whole        *Facts
	jobs, others []*Facts
}

// rows returns the facts of each row of a trial with several jobs. There are none if it is not known which text and
// which numbers are whose.
func (f *Facts) rows() []*Facts {
	texts := sections(f.Measurement.Input)
	if len(texts) < 2 {
		return nil
	}
	jobs := map[string]*Facts{}
	for i, p := range f.Measurement.Parts {
		if text, ok := texts[p.Name]; ok {
			jobs[p.Name] = f.ofPart(p, text)
			jobs[p.Name].ran.order = i
		}
	}
	if len(jobs) < len(texts) {
		return nil
	}
	var out []*Facts
	for _, p := range f.Measurement.Parts {
		own := result.JobsOf(p.Name)
		if len(p.Operations) == 0 || slices.ContainsFunc(own, func(name string) bool { return jobs[name] == nil }) {
			continue
		}
		r, text := &row{name: p.Name, whole: f}, ""
		for _, name := range slices.Sorted(maps.Keys(jobs)) {
			if slices.Contains(own, name) {
				r.jobs, text = append(r.jobs, jobs[name]), text+texts[name]
			} else {
				r.others = append(r.others, jobs[name])
			}
		}
		of := f.ofPart(p, text)
		of.row = r
		out = append(out, of)
	}
	return out
}

// sections returns the text of each job of a job file, by name; nil: two have the same name.
func sections(text string) map[string]string {
	out := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			name = strings.Trim(strings.TrimSpace(line), "[]")
			if _, twice := out[name]; twice {
				return nil
			}
		}
		out[name] += line
	}
	return out
}

// ofPart returns the facts of a part: its own text and numbers, and the trial's counters, which are not its own.
func (f *Facts) ofPart(p result.Part, text string) *Facts {
	of := *f
	m := &of.Measurement
	m.Input, m.Operations, m.Histograms, m.Metrics = text, p.Operations, p.Histograms, maps.Clone(p.Metrics)
	m.Parts, m.PartsOnly, m.Size = nil, false, nil
	m.Rates = slices.DeleteFunc(slices.Clone(m.Rates), func(r result.Rate) bool { return r.Job != p.Name })
	for name, metric := range f.Measurement.Metrics {
		if counter, _, _ := strings.Cut(name, "."); slices.Contains([]string{"device", "below", "others", "limit"}, counter) {
			m.Metrics[name] = metric
		}
	}
	if p.Direct != "" {
		evidence := ""
		if m.DirectIO != nil {
			evidence = m.DirectIO.Evidence
		}
		m.DirectIO = &result.DirectIO{Requested: p.Direct != result.Buffered, Effective: p.Direct, Evidence: evidence}
	}
	of.Samples, of.Earlier, of.whole, of.ran = nil, nil, nil, ran{from: p.StartedAt, to: p.EndedAt}
	return &of
}

// byRow asks a check of each row, and leaves what it finds of the whole to the rows that are not among them.
func (f *Facts) byRow(rows []*Facts, c check) []result.Verdict {
	var out []result.Verdict
	left := slices.DeleteFunc(f.rowNames(), func(name string) bool {
		return slices.ContainsFunc(rows, func(r *Facts) bool { return r.row.name == name })
	})
	if len(left) > 0 {
		out = onRows(c(f), left)
	}
	for _, r := range rows {
		out = append(out, onRows(c(r), []string{r.row.name})...)
	}
	return out
}

// rowNames are the trial's rows: that of the whole, if it has one, and its parts.
func (f *Facts) rowNames() []string {
	var out []string
	if !f.Measurement.PartsOnly {
		out = append(out, "")
	}
	for _, p := range f.Measurement.Parts {
		if len(p.Operations) > 0 {
			out = append(out, p.Name)
		}
	}
	return out
}

func onRows(verdicts []result.Verdict, rows []string) []result.Verdict {
	for i := range verdicts {
		verdicts[i].Parts = rows
	}
	return verdicts
}

// add adds a verdict to others for the rows that have none of its name and operation, or one that only qualifies where it
// invalidates, and which it takes the place of. Rows with the same sentence share it.
func (f *Facts) add(to []result.Verdict, v result.Verdict) []result.Verdict {
	v.Sentence = plain(v.Sentence)
	var kept []result.Verdict
	for _, o := range to {
		left := true
		switch {
		case o.Name != v.Name || o.Operation != v.Operation:
		case rank(v.Effect) < rank(o.Effect):
			o, left = f.without(o, v)
		default:
			if v, left = f.without(v, o); !left {
				return to
			}
		}
		if left {
			kept = append(kept, o)
		}
	}
	to = kept
	same := func(o result.Verdict) bool {
		return o.Name == v.Name && o.Operation == v.Operation && o.Effect == v.Effect && o.Sentence == v.Sentence
	}
	if i := slices.IndexFunc(to, same); i >= 0 {
		to[i].Parts = slices.Concat(to[i].Parts, v.Parts)
		return to
	}
	return append(to, v)
}

// without leaves to a verdict the rows that another one is not about; false: there are none.
func (f *Facts) without(v, other result.Verdict) (result.Verdict, bool) {
	if len(other.Parts) == 0 {
		return v, false
	}
	if len(v.Parts) == 0 {
		v.Parts = f.rowNames()
	}
	v.Parts = slices.DeleteFunc(slices.Clone(v.Parts), func(row string) bool { return slices.Contains(other.Parts, row) })
	return v, len(v.Parts) > 0
}

// parted is which share of what a row moved memory had: at least, as is to be expected, and at most.
type parted struct{ least, usual, most float64 }

// uncertain is which share of all that was moved may be missing because counters are read one after the other. Of a small
// job, that would be much.
const uncertain = 0.01

// part says how much of the share of memory of the whole is the row's. Jobs that are sure to have gone to the disks have no
// part in it, as long as the others explain it.
func (r *row) part(share float64, direction string, sure func(*Facts) bool) parted {
	bytes := func(j *Facts) float64 { return j.value(direction + ".bytes") }
	var own, open, othersOpen, all float64
	for _, j := range r.jobs {
		if own += bytes(j); !sure(j) {
			open += bytes(j)
		}
	}
	all = own
	for _, j := range r.others {
		if all += bytes(j); !sure(j) {
			othersOpen += bytes(j)
		}
	}
	memory := share * all
	switch {
	case own == 0:
		return parted{}
	case memory > 1.02*(open+othersOpen)+enough:
		return r.part(share, direction, nobody) // so none of them is
	case open == 0:
		return parted{}
	}
	p := parted{
		least: min(open, max(0, memory-othersOpen)) / own,
		usual: min(1, memory/(open+othersOpen)) * open / own,
		most:  min(open, memory) / own,
	}
	if othersOpen > 0 {
		p.most = max(p.least, min(open, memory-uncertain*all)/own)
	}
	return p
}

// with is at least that share.
func (p parted) with(share float64) parted {
	return parted{max(p.least, share), max(p.usual, share), max(p.most, share)}
}

// nobody is sure that its data went to the disks.
func nobody(*Facts) bool { return false }

// fromMemory of a row.
func (r *row) fromMemory(f *Facts) []result.Verdict {
	var out []result.Verdict
	if share, proof, ok := r.whole.readShare(); ok {
		p := r.part(share-r.whole.thinShare(share), "read", (*Facts).direct)
		out = append(out, p.verdicts(result.Verdict{Name: FromMemory, Settle: howToReadDisks, Evidence: proof}, f.reading(), "came", "from "+r.whole.notTheDisks())...)
	}
	if share, _, proof, ok := r.whole.writeShare(); ok {
		p := r.part(share, "write", func(j *Facts) bool { return j.direct() || j.leavesNothing() }).with(r.leftAtItsEnd(f))
		out = append(out, p.verdicts(result.Verdict{Name: FromMemory, Settle: f.howToSync(), Evidence: proof}, f.writing(), "were", "still in memory when the clock stopped")...)
	}
	return out
}

// dataReduced of a row, of a file system that compresses. No job can be sure: what is compressed is read through memory.
func (r *row) dataReduced(f *Facts) []result.Verdict {
	var out []result.Verdict
	if share, proof, ok := r.whole.readShare(); ok {
		v := result.Verdict{Name: DataReduced, Settle: howToReadAll, Evidence: proof}
		out = append(out, r.part(share, "read", nobody).verdicts(v, f.reading(), "came", "from memory, or from fewer bytes on the disks, as the file system compresses")...)
	}
	if share, never, proof, ok := r.whole.writeShare(); ok {
		v := result.Verdict{Name: DataReduced, Settle: howToWriteAll, Evidence: proof}
		if share-never > 0.1 {
			v.Name = FromMemory
		}
		out = append(out, r.part(share, "write", nobody).verdicts(v, f.writing(), "were", "still in memory when the clock stopped, or compressed")...)
	}
	return out
}

// cachedBelow of a row, of which no job can be sure.
func (r *row) cachedBelow(d direction, share float64, proof result.Metrics, settle, loop string) []result.Verdict {
	p := r.part(share, d.name, nobody)
	verb, what := "came", "from the file of "+loop+" in memory, not from the disks below it"
	if d.name == "write" {
		verb, what = "were", "still in memory for the file of "+loop+", not on the disks below it"
	}
	return p.verdicts(result.Verdict{Name: CachedBelow, Settle: settle, Evidence: proof}, d, verb, what)
}

// verdicts on what a row moved in a direction, of which memory had a part. The evidence of v is of the whole.
func (p parted) verdicts(v result.Verdict, d direction, verb, what string) []result.Verdict {
	if len(d.operations) == 0 || d.bytes < some {
		return nil
	}
	done := map[string]string{"read": "read", "write": "written"}[d.name]
	v.Evidence = maps.Clone(v.Evidence)
	v.Evidence.Set("row.bytes", result.Bytes, d.bytes)
	v.Evidence.Set("row.least", result.Ratio, p.least)
	v.Evidence.Set("row.most", result.Ratio, p.most)
	if e, bad := effect(p.least); bad {
		amount := percent(p.least)
		if p.most > p.least+0.02 {
			amount = "At least " + amount
		}
		v.Effect, v.Sentence = e, fmt.Sprintf("%s of the %s that were %s %s %s.", amount, report.Bytes(d.bytes), done, verb, what)
		return d.each(v)
	}
	if _, bad := effect(p.usual); bad {
		verb = strings.Replace(verb, "were", "was", 1)
		v.Effect, v.Sentence = worstOf(p.usual), fmt.Sprintf("%s of what this job and others together had %s %s %s.", percent(p.usual), done, verb, what)
		return d.each(v)
	}
	if _, bad := effect(p.most); bad {
		v.Effect, v.Sentence = result.Qualifies, fmt.Sprintf("Up to %s of the %s that were %s %s %s: the disks did less than all jobs together, and nobody knows for which of them.", percent(p.most), report.Bytes(d.bytes), done, verb, what)
		return d.each(v)
	}
	return nil
}

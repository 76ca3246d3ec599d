package fio

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// contradictions notes rates that fio's own counts and run times do not give. fio computes the
// one from the others, so that somebody has changed the document, or put it together.
func contradictions(own []foreignJob) []string {
	const most = 3
	var out []string
	found := 0
	for i := range own {
		for _, op := range operations {
			text := own[i].direction(op).contradiction()
			if text == "" {
				text = own[i].outlasts(op)
			}
			if text == "" {
				text = own[i].otherBlocks(op)
			}
			if text == "" {
				continue
			}
			if found++; found <= most {
				out = append(out, fmt.Sprintf("the %ss of job %s contradict themselves: %s", op, clip(own[i].Name), text))
			}
		}
	}
	if found > most {
		out = append(out, fmt.Sprintf("%d more contradictions of rates, counts, run times and options: counts and run times count", found-most))
	}
	return out
}

// idle reports whether a job did nothing that has a rate.
func (j *jobOutput) idle() bool {
	return j.Read.IOs+j.Write.IOs+j.Trim.IOs+j.Sync.Latency.N == 0
}

// idleJobs notes jobs of which there is no row.
func idleJobs(own []foreignJob) []string {
	var names []string
	for i := range own {
		if j := &own[i]; j.idle() && !slices.Contains(names, clip(j.Name)) {
			names = append(names, clip(j.Name))
		}
	}
	const most = 8
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return []string{"jobs, or clones of them, did no I/O that has a rate: " + text}
}

// contradiction between rates and what they come from; empty: there is none.
func (d *direction) contradiction() string {
	const milli, kibi = 1e3, 1024.0
	if d.Runtime <= 0 || d.IOs == 0 {
		return ""
	}
	seconds := d.Runtime / milli
	iops, bytes := float64(d.IOs)/seconds, float64(d.Bytes)/seconds
	switch {
	case d.IOPS > 0 && differ(d.IOPS, iops, 1):
		return fmt.Sprintf("fio printed %.6g IOPS, and %d I/Os in %.6g s are %.6g IOPS, which count", d.IOPS, d.IOs, seconds, iops)
	case d.Bytes > 0 && d.BytesPerSecond > 0 && differ(d.BytesPerSecond, bytes, kibi):
		return fmt.Sprintf("fio printed %.6g bytes/s, and %d bytes in %.6g s are %.6g bytes/s, which count", d.BytesPerSecond, d.Bytes, seconds, bytes)
	case d.Bytes > 0 && d.BytesPerSecond == 0 && d.KiBPerSecond > 0 && differ(d.KiBPerSecond*kibi, bytes, kibi):
		return fmt.Sprintf("fio printed %.6g KiB/s, and %d bytes in %.6g s are %.6g KiB/s, which count", d.KiBPerSecond, d.Bytes, seconds, bytes/kibi)
	}
	return ""
}

// outlasts says that an operation took longer than all of fio, which fio counts in whole seconds; empty: it did not. In
// states of a run that goes on, some versions count a time twice.
func (j *foreignJob) outlasts(op string) string {
	const milli, slack = 1e3, 2
	d := j.direction(op)
	if j.Elapsed <= 0 || d.derived || d.Runtime/milli <= float64(j.Elapsed)+slack {
		return ""
	}
	return fmt.Sprintf("a run time of %.6g s, while fio had run for %.0f s: the rates may be too low", d.Runtime/milli, float64(j.Elapsed))
}

// blockSize is a size as people write it, which fio may read otherwise.
var blockSize = regexp.MustCompile(`^(\d{1,9}(?:\.\d{1,3})?)([kKmMgG]?)(?:i?[bB])?$`)

// otherBlocks says that I/Os had another size than bs; empty: they had not, or it is not known.
func (j *foreignJob) otherBlocks(op string) string {
	const tolerance = 0.05
	options, d := j.settings(), j.direction(op)
	m := blockSize.FindStringSubmatch(options["bs"])
	if m == nil || op == "trim" || d.IOs == 0 || d.Bytes == 0 || options["bsrange"]+options["bssplit"] != "" {
		return ""
	}
	size, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return ""
	}
	had := float64(d.Bytes) / float64(d.IOs)
	for _, base := range []float64{1000, 1024} {
		want := size * math.Pow(base, float64(strings.Index("kmg", strings.ToLower(m[2]))+len(m[2])))
		if math.Abs(had-want) <= tolerance*want {
			return ""
		}
	}
	return fmt.Sprintf("bs=%s, but an I/O had %.6g bytes on average: fio read the option otherwise, or I/Os were short", clip(options["bs"]), had)
}

// differ reports whether two rates differ by more than fio rounds, which is to a whole unit.
func differ(a, b, unit float64) bool {
	const rounding = 0.02
	return math.Abs(a-b) > unit+rounding*math.Max(a, b)
}

package fio

import (
	"fmt"
	"math"
	"slices"
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
				continue
			}
			if found++; found <= most {
				out = append(out, fmt.Sprintf("the %ss of job %s contradict themselves: %s", op, clip(own[i].Name), text))
			}
		}
	}
	if found > most {
		out = append(out, fmt.Sprintf("%d more rates contradict their counts and run times, which count", found-most))
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

// differ reports whether two rates differ by more than fio rounds, which is to a whole unit.
func differ(a, b, unit float64) bool {
	const rounding = 0.02
	return math.Abs(a-b) > unit+rounding*math.Max(a, b)
}

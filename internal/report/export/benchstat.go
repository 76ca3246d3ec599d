package export

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// ErrNoTrials reports that only a run's summary is there, and the format needs its trials.
var ErrNoTrials = errors.New("there are no trials, only the run's summary")

// Units of the benchmarks, and which direction is better. benchstat shows "sec" and "B/s" in human
// units.
var benchUnits = []struct{ suffix, unit, better string }{
	{".iops", "IO/s", "higher"},
	{".rate", "op/s", "higher"},
	{".bandwidth", "B/s", "higher"},
	{".latency.p50", "p50-sec", "lower"},
	{".latency.p99", "p99-sec", "lower"},
	{".latency.p99.9", "p99.9-sec", "lower"},
}

// Benchstat writes trials in the format of Go's benchmarks: a line for each trial and operation,
// so that benchstat compares two runs, or two targets of one (benchstat -col /target). A number
// that a verdict invalidates has the verdict in its name, so that it is compared with its like.
func Benchstat(w io.Writer, s result.Summary, workers []report.WorkerTrials) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "benchmark: %s\nrun: %s\n", value(strings.Trim(s.Benchmark.Namespace+"/"+s.Benchmark.Name, "/")), value(s.Run))
	for _, u := range benchUnits {
		fmt.Fprintf(out, "Unit %s better=%s\n", u.unit, u.better)
	}
	lines := 0
	for _, worker := range workers {
		for _, t := range worker.Trials {
			if t.Outcome != result.Measured {
				continue
			}
			for _, part := range append([]result.PartSummary{{Metrics: t.Metrics, Operations: t.Operations}}, t.Parts...) {
				lines += benchmarks(out, worker, t, part)
			}
		}
	}
	if lines == 0 {
		return ErrNoTrials
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// benchmarks writes the lines of one part of a trial, and returns how many there are.
func benchmarks(out io.Writer, worker report.WorkerTrials, t result.TrialSummary, part result.PartSummary) int {
	lines := 0
	operations := slices.Clone(part.Operations)
	for name := range part.Metrics {
		op, ok := strings.CutSuffix(name, ".latency.p99")
		if ok && !slices.Contains(operations, op) {
			operations = append(operations, op)
		}
	}
	slices.Sort(operations)
	for _, op := range operations {
		var values strings.Builder
		for _, u := range benchUnits {
			if m, ok := part.Metrics[op+u.suffix]; ok {
				values.WriteString("\t" + strconv.FormatFloat(m.Value, 'g', -1, 64) + " " + u.unit)
			}
		}
		if values.Len() == 0 {
			continue
		}
		var name strings.Builder
		name.WriteString("Benchmark" + title(benchWord(t.Workload)))
		for _, key := range []struct{ name, value string }{
			{"target", worker.Worker.Target}, {"node", worker.Worker.Node}, {"variant", t.Variant}, {"part", part.Name}, {"op", op}, {"verdict", invalid(t, part.Name, op)},
		} {
			if key.value != "" {
				name.WriteString("/" + key.name + "=" + benchWord(key.value))
			}
		}
		fmt.Fprintf(out, "%s\t1%s\n", name.String(), values.String())
		lines++
	}
	return lines
}

func invalid(t result.TrialSummary, part, op string) string {
	for _, v := range t.Verdicts {
		if v.Effect == result.Invalidates && v.About(op) && v.OnRow(part) {
			return v.Name
		}
	}
	return ""
}

var (
	unfit = regexp.MustCompile(`[^A-Za-z0-9._]+`)
	// procs is what benchstat takes for the number of processors.
	procs = regexp.MustCompile(`-(\d+)$`)
)

// benchWord is a text as a part of a benchmark's name.
func benchWord(text string) string {
	return procs.ReplaceAllString(strings.Trim(unfit.ReplaceAllString(text, "-"), "-"), "_$1")
}

func title(word string) string {
	if word == "" {
		return "Workload"
	}
	if word[0] >= 'a' && word[0] <= 'z' {
		return strings.ToUpper(word[:1]) + word[1:]
	}
	return "W" + word
}

// value is a text as the value of a key of the file, which ends with its line.
func value(text string) string { return oneLine(text) }

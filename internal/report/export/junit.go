package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Skipped   int        `xml:"skipped,attr"`
	Timestamp string     `xml:"timestamp,attr,omitempty"`
	Cases     []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Failure *reason `xml:"failure,omitempty"`
	Error   *reason `xml:"error,omitempty"`
	Skipped *reason `xml:"skipped,omitempty"`
	Out     string  `xml:"system-out,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes a summary as test cases, for a pipeline that shows them: one for each operation of
// each row, which fails if a verdict invalidates its number; one for each comparison that a metric
// decides, which fails if it is worse and is skipped if it is inconclusive; and one for each worker
// that did not measure everything, which is an error.
func JUnit(w io.Writer, s result.Summary) error {
	all := suites{Name: "storagebench " + strings.Trim(s.Benchmark.Namespace+"/"+s.Benchmark.Name, "/"), Suites: []suite{numbers(s)}}
	if gated := gates(s); len(gated.Cases) > 0 {
		all.Suites = append([]suite{gated}, all.Suites...)
	}
	if compared := comparisons(s); len(compared.Cases) > 0 {
		all.Suites = append(all.Suites, compared)
	}
	if failed := workersThatFailed(s); len(failed.Cases) > 0 {
		all.Suites = append(all.Suites, failed)
	}
	for i := range all.Suites {
		u := &all.Suites[i]
		if !s.FinishedAt.IsZero() {
			u.Timestamp = s.FinishedAt.UTC().Format("2006-01-02T15:04:05")
		}
		u.count()
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+u.Tests, all.Failures+u.Failures, all.Errors+u.Errors, all.Skipped+u.Skipped
	}
	document, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(document)+"\n")
	return err
}

func (s *suite) count() {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

// numbers are the numbers that were measured, each a case that its verdicts decide.
func numbers(s result.Summary) suite {
	out := suite{Name: "numbers"}
	for _, row := range report.Shown(s.Rows) {
		for _, op := range report.Operations(row) {
			l := report.LineOf(row, op)
			c := testCase{Class: classOf(row), Name: op, Out: fmt.Sprintf("%s per second (95 %% interval %s, n = %d), bandwidth %s, p50 %s, p99 %s, p99.9 %s", l.Rate, l.Interval, l.N, l.Bandwidth, l.P50, l.P99, l.P999)}
			for _, v := range row.Verdicts {
				if !v.About(op) {
					continue
				}
				text := fmt.Sprintf("%s (%d of %d trials): %s %s", v.Name, v.Trials, row.N, v.Sentence, v.Settle)
				if v.Effect == result.Invalidates && c.Failure == nil {
					c.Failure = &reason{Message: v.Name + ": " + v.Sentence, Type: v.Name, Text: v.Settle}
				}
				c.Out += "\n" + text
			}
			out.Cases = append(out.Cases, c)
		}
	}
	return out
}

func classOf(row result.Row) string {
	class := row.Target + "." + report.WithPart(row.Workload, row.Part)
	if row.Variant != "" {
		class += "." + row.Variant
	}
	return class + "." + row.Node
}

// gates are the limits of the benchmark: a case that is missed fails, and one that is inconclusive
// is skipped.
func gates(s result.Summary) suite {
	out := suite{Name: "gates"}
	for _, g := range s.Gates {
		row := result.Row{Target: g.Target, Workload: g.Workload, Part: g.Part, Variant: g.Variant, Node: g.Node}
		one := testCase{Class: classOf(row), Name: report.MetricName(g.Metric) + " " + report.GateLimit(g), Out: report.GateNumber(g)}
		switch why := (&reason{Message: g.Sentence, Type: string(g.Outcome)}); g.Outcome {
		case result.GateMet:
		case result.GateMissed:
			one.Failure = why
		default:
			one.Skipped = why
		}
		out.Cases = append(out.Cases, one)
	}
	return out
}

// comparisons are those that a metric decides.
func comparisons(s result.Summary) suite {
	out := suite{Name: "comparisons"}
	for _, c := range s.Comparisons {
		if c.Primary == nil {
			continue
		}
		row := result.Row{Target: c.Target, Workload: c.Workload, Part: c.Part, Variant: c.Variant, Node: c.Node}
		one := testCase{Class: classOf(row) + " to " + c.Control, Name: c.Primary.Metric, Out: c.Primary.Outcome + ": " + c.Primary.Sentence}
		switch why := (&reason{Message: c.Primary.Sentence, Type: c.Primary.Outcome}); c.Primary.Outcome {
		case "Better", "NoDifference":
		case "Worse":
			one.Failure = why
		default:
			one.Skipped = why
		}
		out.Cases = append(out.Cases, one)
	}
	return out
}

type workerFailure struct {
	worker string
	*trial.Failure
}

// failuresOf returns the failures of workers, sorted by name.
func failuresOf(s result.Summary) (out []workerFailure) {
	for _, worker := range slices.Sorted(maps.Keys(s.Failures)) {
		if f := s.Failures[worker]; f != nil {
			out = append(out, workerFailure{worker, f})
		}
	}
	return out
}

func workersThatFailed(s result.Summary) suite {
	out := suite{Name: "workers"}
	for _, f := range failuresOf(s) {
		out.Cases = append(out.Cases, testCase{Class: "workers", Name: f.worker, Error: &reason{Message: f.Failure.Error(), Type: string(f.Class)}})
	}
	if len(out.Cases) == 0 && s.Stored < s.Planned {
		out.Cases = append(out.Cases, testCase{Class: "workers", Name: "trials", Error: &reason{Message: fmt.Sprintf("%d of %d trials were measured", s.Stored, s.Planned)}})
	}
	return out
}

package iozone

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

var (
	// summaryBegins is the first line of what -R adds in throughput mode: each test with what the
	// children saw, for each number of processes.
	summaryBegins = regexp.MustCompile(`^\W{0,3}Throughput report Y-axis`)
	summaryUnit   = regexp.MustCompile(`^\W{0,3}Output is in ([A-Za-z/]+)`)
	summaryRow    = regexp.MustCompile(`^["“]?\s*([A-Z][A-Za-z -]{2,20}?)\s*["”]((?:\s+\d{1,15}(?:\.\d{1,4})?)+)$`)
)

// summaries are the tests by the names that they have there.
var summaries = map[string]string{
	"Initial write": "write", "Rewrite": "rewrite", "Read": "read", "Re-read": "reread", "Reverse Read": "backward.read",
	"Stride read": "stride.read", "Random read": "random.read", "Mixed workload": "mixed", "Random write": "random.write",
	"Pwrite": "pwrite", "Pread": "pread", "Fwrite": "fwrite", "Fread": "fread",
}

// summary is such a report while it is being read.
type summary struct {
	// line that it begins in; run that is known from it alone.
	line int
	unit string
	run  *run
}

// readSummary reads a line of a report for spreadsheets in throughput mode. It reports whether it was one.
func (p *parser) readSummary(i int, line string) (bool, error) {
	if summaryBegins.MatchString(line) {
		p.summary = &summary{line: i}
		return true, nil
	}
	if p.summary == nil {
		return false, nil
	}
	if m := summaryUnit.FindStringSubmatch(line); m != nil {
		p.summary.unit = m[1]
		return true, nil
	}
	m := summaryRow.FindStringSubmatch(line)
	if m == nil {
		if strings.HasPrefix(line, "iozone test complete") || strings.HasPrefix(line, "Iozone:") {
			p.summary = nil
		}
		return false, nil
	}
	operation, ok := summaries[m[1]]
	if !ok {
		return true, fmt.Errorf("storagebench does not know the test %q of iozone: leave it out of the text", clip(m[1]))
	}
	return true, p.addSummary(i, operation, strings.Fields(m[2]))
}

// addSummary adds what a report says of a test, if it is not told above.
func (p *parser) addSummary(i int, operation string, values []string) error {
	const kibi = 1024
	var rates []float64
	for _, value := range values {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return err
		}
		rates = append(rates, v*kibi)
	}
	s := p.summary
	switch {
	case !strings.HasPrefix(strings.ToLower(s.unit), "kb"):
		return fmt.Errorf("the report is in %s, not in kB/sec: run iozone without -O and -N", clip(s.unit))
	case s.run == nil && p.told(operation, rates):
		return nil
	case len(rates) > 1:
		return errors.New("this report of throughput mode is about several numbers of processes, and does not say which: provide all that iozone printed")
	case p.cut && i == len(p.lines)-1:
		return errCut
	}
	if s.run == nil {
		s.run = p.current()
		if s.run.measured() {
			s.run = p.begin()
		}
		if err := p.name(s.run, s.line); err != nil {
			return err
		}
		s.run.throughput = &throughput{metrics: result.Metrics{}}
	}
	t := s.run.throughput
	t.metrics.Set(operation+".bandwidth", result.BytesPerSecond, rates[0])
	t.operations = append(t.operations, operation)
	p.read = i + 1
	return nil
}

// told reports whether the runs before had these rates of a test.
func (p *parser) told(operation string, rates []float64) bool {
	if len(p.runs) < len(rates) {
		return false
	}
	for k, r := range p.runs[len(p.runs)-len(rates):] {
		if r.throughput == nil {
			return false
		}
		if v, ok := r.throughput.metrics[operation+".bandwidth"]; !ok || math.Abs(v.Value-rates[k]) > 1 {
			return false
		}
	}
	return true
}

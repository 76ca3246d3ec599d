package iozone

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// throughput is what iozone measures with several processes (-t).
type throughput struct {
	// processes, and what each of them does, in KiB.
	processes, file, record uint64
	metrics                 result.Metrics
	operations              []string
}

var (
	throughputTest = regexp.MustCompile(`^Throughput test with (\d{1,6}) (process|thread)`)
	eachWrites     = regexp.MustCompile(`(?i)^Each (?:process|thread) writes a (\d{1,15}) k(?:B|bytes?) file in (\d{1,12}) k(?:B|bytes?) records`)
	seen           = regexp.MustCompile(`^(Children see|Parent sees) throughput for\s+(\d{1,6}) ([a-z][a-z -]*?)\s*=(.*)$`)
	seesAny        = regexp.MustCompile(`(?:Children see|Parent sees) throughput for`)
	// besides is what iozone prints of a test besides what children and parent saw.
	besides     = regexp.MustCompile(`^(?:(?:Min|Max|Avg) (?:throughput per (?:process|thread)|xfer)\b|Child ?\[\d+\]|CPU utilization)`)
	brokenRate  = regexp.MustCompile(`^\s*\d{1,15}(?:\.\d{1,4})?\s*$`)
	inKilobytes = regexp.MustCompile(`(?i)^\s*(\d{1,15}(?:\.\d{1,4})?) k(?:B|bytes?)/sec$`)
)

// throughputs are the tests by the names that iozone gives to their processes.
var throughputs = map[string]string{
	"initial writers": "write", "rewriters": "rewrite", "readers": "read", "re-readers": "reread",
	"reverse readers": "backward.read", "stride readers": "stride.read", "random readers": "random.read",
	"mixed workload": "mixed", "random writers": "random.write", "pwrite writers": "pwrite", "pread readers": "pread",
	"fwriters": "fwrite", "freaders": "fread", "refwriters": "frewrite", "refreaders": "freread", "re-fwriters": "frewrite", "re-freaders": "freread",
}

// readThroughput reads a line of throughput mode. It reports whether it was one.
func (p *parser) readThroughput(i int, line string) (bool, error) {
	if m := throughputTest.FindStringSubmatch(line); m != nil {
		r := p.current()
		another := r.measured() || r.throughput != nil
		if another && !p.said(i) {
			r = p.goOn(r)
		} else {
			if another {
				r = p.begin()
			}
			if err := p.name(r, i); err != nil {
				return true, err
			}
		}
		r.throughput = &throughput{processes: positive(m[1]), metrics: result.Metrics{}}
		p.read = i + 1
		return true, nil
	}
	if m := eachWrites.FindStringSubmatch(line); m != nil {
		if t := p.current().throughput; t != nil {
			t.file, t.record, p.read = positive(m[1]), positive(m[2]), i+1
		}
		return true, nil
	}
	if besides.MatchString(line) && p.current().throughput != nil {
		p.read = i + 1
		return true, nil
	}
	m := seen.FindStringSubmatch(line)
	if m == nil {
		switch at := seesAny.FindStringIndex(line); {
		case at == nil:
			return false, nil
		case at[0] > 0 && seen.MatchString(line[at[0]:]):
			return false, fmt.Errorf("%q stands before this line of iozone: remove it here and in the lines around, or write it as a heading above them", clip(strings.TrimSpace(line[:at[0]])))
		}
		return false, fmt.Errorf("%q is no throughput: provide the line as iozone prints it, up to kB/sec", clip(line))
	}
	err := p.addThroughput(i, m)
	p.read = i + 1
	return true, err
}

// addThroughput adds what the children, or the parent, saw of a test.
func (p *parser) addThroughput(i int, m []string) error {
	operation, ok := throughputs[m[3]]
	value := inKilobytes.FindStringSubmatch(strings.TrimSpace(m[4]))
	switch {
	case !ok:
		return fmt.Errorf("storagebench does not know the test %q of iozone: leave it out of the text", clip(m[3]))
	case value == nil && brokenRate.MatchString(m[4]):
		return errors.New("this line is broken before kB/sec: join it with the one below")
	case value == nil:
		return fmt.Errorf("%q is not a bandwidth in kB/sec: run iozone without -O and -N", clip(strings.TrimSpace(m[4])))
	}
	kib, err := strconv.ParseFloat(value[1], 64)
	if err != nil {
		return err
	}
	const kibi = 1024
	parent := m[1] == "Parent sees"
	t, err := p.throughputOf(i, operation, positive(m[2]), parent)
	if err != nil {
		return err
	}
	if parent {
		t.metrics.Set(operation+".parent.bandwidth", result.BytesPerSecond, kib*kibi)
		return nil
	}
	t.metrics.Set(operation+".bandwidth", result.BytesPerSecond, kib*kibi)
	t.operations = append(t.operations, operation)
	return nil
}

// throughputOf is what line i adds a test to: the run that is being read, or another one if that has the test already, or
// something is said in between, of which only results were kept, or had another number of processes.
func (p *parser) throughputOf(i int, operation string, processes uint64, parent bool) (*throughput, error) {
	r := p.current()
	t := r.throughput
	if t != nil && parent {
		if _, twice := t.metrics[operation+".parent.bandwidth"]; twice {
			return nil, errors.New("a second line of this test says what the parent sees, and each run has one: lines of several runs are mixed; provide one run after the other")
		}
		return t, nil
	}
	twice := false
	if t != nil {
		_, twice = t.metrics[operation+".bandwidth"]
	}
	switch {
	case t != nil && !twice && (len(t.metrics) == 0 || !p.said(i)) && (t.processes == processes || t.processes == 0):
		return t, nil
	case t != nil && !twice && !p.said(i):
		r = p.goOn(r)
	default:
		if r.measured() || t != nil {
			r = p.begin()
		}
		if err := p.name(r, i); err != nil {
			return nil, err
		}
	}
	r.throughput = &throughput{processes: processes, metrics: result.Metrics{}}
	return r.throughput, nil
}

// goOn begins the next number of processes of the same run.
func (p *parser) goOn(r *run) *run {
	next := p.begin()
	next.title, next.section, next.typed, next.version, next.command, next.flush, next.direct = r.title, r.section, r.typed, r.version, r.command, r.flush, r.direct
	return next
}

// positive reads digits whose number the pattern bounds.
func positive(digits string) uint64 {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// put makes a table of it.
func (t *throughput) put(table *Table) {
	const kibi = 1024
	table.Measurement = result.Measurement{Metrics: t.metrics, Operations: t.operations}
	table.LargestFile = t.processes * t.file * kibi
	table.Settings["processes"] = strconv.FormatUint(t.processes, 10)
	note := fmt.Sprintf("throughput mode: what %d processes did together, as each of them saw it", t.processes)
	if t.processes == 0 {
		table.Settings["processes"] = "unknown"
		note = "throughput mode: what the processes did together, as each of them saw it; the text does not tell how many"
	}
	if t.file > 0 {
		note += fmt.Sprintf("; each had a file of %s with records of %s", sizeName(t.file*kibi), sizeName(t.record*kibi))
		table.Settings["sizes"] = sizeName(t.file*kibi) + " by " + sizeName(t.record*kibi)
	}
	table.Measurement.Notes = []string{note}
}

package bonnie

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// test is one test of bonnie++.
type test struct {
	// operation is its name in the metrics.
	operation string
	// bytes reports that its rate is a bandwidth.
	bytes bool
}

// ioTests are the tests on the large file, in the order of columns.
var ioTests = []test{
	{"write.char", true}, {"write", true}, {"rewrite", true}, {"read.char", true}, {"read", true}, {"seek", false},
}

// fileTests are the tests on many small files, in the order of columns.
var fileTests = []test{
	{"create.sequential", false}, {"stat.sequential", false}, {"delete.sequential", false},
	{"create.random", false}, {"stat.random", false}, {"delete.random", false},
}

// order of the operations in a measurement: what the test is run for comes first.
var order = []string{
	"write", "rewrite", "read", "seek", "write.char", "read.char",
	"create.sequential", "stat.sequential", "delete.sequential", "create.random", "stat.random", "delete.random",
}

// cell is what bonnie++ prints of one test. What is empty was not done.
type cell struct {
	// rate is a number in the unit of its column, or plus signs: too fast to measure.
	rate string
	// unit is how many bytes one of rate is; 1 for a rate that is no bandwidth.
	unit float64
	// cpu is a percentage of one core.
	cpu string
	// latency is the longest, with its unit.
	latency string
}

// reading collects the cells of one run.
type reading struct {
	metrics  result.Metrics
	tooFast  []string
	measured map[string]bool
	// steps are how far two values of a metric are apart whose last digits differ by one.
	steps map[string]float64
}

func newReading() *reading {
	return &reading{metrics: result.Metrics{}, measured: map[string]bool{}, steps: map[string]float64{}}
}

// add reads the cells of a group of tests.
func (r *reading) add(tests []test, cells []cell) error {
	for i, t := range tests {
		c := cells[i]
		switch {
		case c.rate == "":
		case strings.Trim(c.rate, "+") == "":
			r.tooFast = append(r.tooFast, t.operation)
		default:
			v, err := number(c.rate)
			if err != nil {
				return fmt.Errorf("%s: %w", t.operation, err)
			}
			r.measured[t.operation] = true
			if t.bytes {
				r.metrics.Set(t.operation+".bandwidth", result.BytesPerSecond, v*c.unit)
				r.steps[t.operation+".bandwidth"] = step(c.rate) * c.unit
			} else {
				r.metrics.Set(t.operation+".rate", result.PerSecond, v)
				r.steps[t.operation+".rate"] = step(c.rate)
			}
		}
		if err := r.addRest(t.operation, c); err != nil {
			return fmt.Errorf("%s: %w", t.operation, err)
		}
	}
	return nil
}

func (r *reading) addRest(operation string, c cell) error {
	if strings.Trim(c.cpu, "+") != "" {
		v, err := number(c.cpu)
		if err != nil {
			return err
		}
		r.metrics.Set(operation+".cpu", result.Ratio, v/100)
		r.steps[operation+".cpu"] = step(c.cpu) / 100
	}
	if c.latency != "" {
		v, err := seconds(c.latency)
		if err != nil {
			return err
		}
		r.metrics.Set(operation+".latency.max", result.Seconds, v)
	}
	return nil
}

// measurement of what was read.
func (r *reading) measurement() result.Measurement {
	m := result.Measurement{Metrics: r.metrics}
	for _, operation := range order {
		if r.measured[operation] {
			m.Operations = append(m.Operations, operation)
		}
	}
	if len(r.tooFast) > 0 {
		m.Notes = append(m.Notes, strings.Join(r.tooFast, ", ")+": took less than 0.5 s, for which bonnie++ gives no rate")
	}
	return m
}

// step is what one more in the last digit of a number makes.
func step(digits string) float64 {
	_, behind, _ := strings.Cut(digits, ".")
	return math.Pow(0.1, float64(len(behind)))
}

// thousands are numbers as some languages write them.
var thousands = regexp.MustCompile(`^\d{1,3}\.\d{3}$`)

// number reads digits with a point, and nothing else that ParseFloat knows.
func number(s string) (float64, error) {
	if len(s) > 20 || strings.Trim(s, ".0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	if thousands.MatchString(s) {
		return 0, fmt.Errorf("%q has three digits behind a point, which bonnie never prints: if the point separates thousands, remove it", s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

// seconds reads a latency: 139us, 8032ms, 101s.
func seconds(s string) (float64, error) {
	for _, unit := range []struct {
		name     string
		inSecond float64
	}{{"us", 1e6}, {"ms", 1e3}, {"s", 1}} {
		if digits, ok := strings.CutSuffix(s, unit.name); ok {
			v, err := number(digits)
			return v / unit.inSecond, err
		}
	}
	return 0, fmt.Errorf("%q is not a latency", clip(s))
}

// clip shortens what is quoted in a message.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

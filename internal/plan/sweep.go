package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// MaxPoints bounds the settings of a sweep: each is measured as often as any other workload, and is
// a row of the status.
const MaxPoints = 32

// maxSweptName bounds the name of a point. A longer one ends with a hash.
const maxSweptName = 80

// setting is one value of one parameter.
type setting struct{ parameter, value string }

// point is a workload with the settings of one point of its sweep; without settings, the workload.
type point struct {
	workload v1alpha1.Workload
	settings []setting
	// knee is the search that its trials are probes of, or nil.
	knee *trial.Knee
}

// text is what the point sets: iodepth=8, bs=4k.
func (p point) text() string {
	var parts []string
	for _, s := range p.settings {
		parts = append(parts, s.parameter+"="+s.value)
	}
	return strings.Join(parts, ", ")
}

// pointsOf returns a workload at each point of its sweep over its engine's parameters, or the
// workload itself. Tunables are swept by variantsOf.
func pointsOf(w v1alpha1.Workload) ([]point, error) {
	sweep := w.Sweep
	w.Sweep, w.Precondition = nil, nil // what is left is the name and the engine
	if sweep == nil {
		return []point{{workload: w}}, nil
	}
	field := "spec.workloads[" + w.Name + "].sweep"
	if sweep.SLO != nil {
		return kneeOf(field, w, sweep)
	}
	if len(sweep.Over) == 0 {
		return nil, invalid(field, "the sweep has no parameters", "name them in over, for example {parameter: iodepth, values: [1, 4, 16]}, or remove the sweep")
	}
	combinations, err := combine(field, sweep, isParameter)
	if err != nil {
		return nil, err
	}
	if tunables, err := combine(field, sweep, isTunable); err != nil {
		return nil, err
	} else if n := len(combinations) * len(tunables); n > MaxPoints {
		return nil, invalid(field+".over", fmt.Sprintf("its parameters have %d combinations; the limit is %d", n, MaxPoints), "leave out values, or sweep one parameter after the other")
	}
	var out []point
	for _, settings := range combinations {
		p := point{workload: *w.DeepCopy(), settings: settings}
		for _, s := range settings {
			if err := set(&p.workload, s); err != nil {
				err.Field = fmt.Sprintf("%s.over[%s]", field, s.parameter)
				return nil, err
			}
		}
		if len(settings) > 0 {
			p.workload.Name = pointName(w.Name, settings)
		}
		if slices.ContainsFunc(out, func(other point) bool { return other.workload.Name == p.workload.Name }) {
			p.workload.Name = shorten(p.workload.Name, maxSweptName-9) + "-" + Hash(fmt.Sprint(settings)) // 4K and 4k
		}
		out = append(out, p)
	}
	return out, nil
}

// AtPoints returns a workload of the spec as it is measured, at each point of its sweep: of a search,
// at both ends of its range. The error is a *trial.Failure of the sweep.
func AtPoints(w v1alpha1.Workload) ([]v1alpha1.Workload, error) {
	points, err := pointsOf(w)
	if err != nil {
		return nil, err
	}
	var out []v1alpha1.Workload
	for _, at := range points {
		out = append(out, at.workload)
	}
	return out, nil
}

func isTunable(parameter string) bool   { return strings.Contains(parameter, ".") }
func isParameter(parameter string) bool { return !isTunable(parameter) }

// combine returns every combination of the values of those parameters that are chosen, the last of
// which changes first. If none is chosen, there is one without settings.
func combine(field string, sweep *v1alpha1.Sweep, chosen func(parameter string) bool) ([][]setting, error) {
	all := [][]setting{nil}
	for _, p := range sweep.Over {
		if !chosen(p.Parameter) {
			continue
		}
		values, err := valuesOf(fmt.Sprintf("%s.over[%s]", field, p.Parameter), p)
		if err != nil {
			return nil, err
		}
		if len(all)*len(values) > MaxPoints {
			return nil, invalid(field+".over", fmt.Sprintf("its parameters have more than %d combinations", MaxPoints), "leave out values, or sweep one parameter after the other")
		}
		var next [][]setting
		for _, before := range all {
			for _, value := range values {
				next = append(next, append(slices.Clone(before), setting{p.Parameter, value}))
			}
		}
		all = next
	}
	return all, nil
}

// valuesOf are the values of a parameter of a sweep.
func valuesOf(field string, p v1alpha1.SweepParameter) ([]string, error) {
	if (p.Range == nil) == (len(p.Values) == 0) {
		return nil, invalid(field, "the parameter needs exactly one of values and range", "for example values: [1, 4, 16]")
	}
	if p.Range != nil {
		return rangeOf(field+".range", *p.Range)
	}
	var values []string
	for _, v := range p.Values {
		text := strings.TrimSpace(v.Text)
		switch {
		case text == "" || len(text) > 64 || strings.ContainsAny(text, "\r\n\x00"):
			return nil, invalid(field+".values", fmt.Sprintf("%.70q is not a value of 1 to 64 characters", v.Text), "write a number or a word")
		case slices.Contains(values, text):
			return nil, invalid(field+".values", fmt.Sprintf("the value %s is there twice", text), "remove one of them")
		}
		values = append(values, text)
	}
	return values, nil
}

var withUnit = regexp.MustCompile(`^([0-9]{1,15})([A-Za-z]{0,3})$`)

// rangeOf are the values of a range.
func rangeOf(field string, r v1alpha1.SweepRange) ([]string, error) {
	first, last := withUnit.FindStringSubmatch(r.From.Text), withUnit.FindStringSubmatch(r.To.Text)
	switch {
	case first == nil:
		return nil, invalid(field+".from", fmt.Sprintf("%.70q is not a whole number", r.From.Text), "write it with or without a unit, for example 4 or 4k, or list the values")
	case last == nil:
		return nil, invalid(field+".to", fmt.Sprintf("%.70q is not a whole number", r.To.Text), "write it with or without a unit, for example 64 or 64k, or list the values")
	case first[2] != last[2]:
		return nil, invalid(field+".to", fmt.Sprintf("%s and %s have different units", r.From.Text, r.To.Text), "write both with the same unit, or list the values")
	case (r.Step > 0) == (r.Factor > 0):
		return nil, invalid(field, "a range needs exactly one of step and factor", "for example factor: 2")
	}
	from, _ := strconv.ParseInt(first[1], 10, 64) // 15 digits fit
	to, _ := strconv.ParseInt(last[1], 10, 64)
	if from > to || from == 0 && r.Factor > 0 || r.Step < 0 || r.Factor < 0 || r.Factor == 1 {
		return nil, invalid(field, fmt.Sprintf("from %s to %s is no range that step %d, or factor %d, goes through", r.From.Text, r.To.Text, r.Step, r.Factor), "write a range such as {from: 1, to: 64, factor: 4}: to the larger end, factor 2 or more and then from above 0, or step above 0")
	}
	var values []string
	for v := from; v <= to; {
		if len(values) == MaxPoints {
			return nil, invalid(field, fmt.Sprintf("from %s to %s are more than %d values", r.From.Text, r.To.Text, MaxPoints), "raise step or factor")
		}
		values = append(values, strconv.FormatInt(v, 10)+first[2])
		if r.Step > 0 {
			v += r.Step
		} else {
			v *= r.Factor
		}
	}
	return values, nil
}

var unfit = regexp.MustCompile(`[^a-z0-9_]+`)

// fit returns a text as a part of a name.
func fit(text string) string {
	return strings.Trim(unfit.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// pointName is oltp@iodepth-8 or oltp@iodepth-8-bs-4k.
func pointName(workload string, settings []setting) string {
	var parts []string
	for _, s := range settings {
		parts = append(parts, fit(s.parameter)+"-"+fit(s.value))
	}
	return shorten(workload+"@"+strings.Join(parts, "-"), maxSweptName)
}

func shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	return strings.TrimRight(name[:most-9], "-") + "-" + Hash(name)
}

// Variants returns the variants of a spec: its own, or those that the sweep of its only workload over
// tunables makes. What is wrong with a sweep, Build says.
func Variants(spec v1alpha1.StorageBenchmarkSpec) []v1alpha1.Variant {
	if len(spec.Variants) > 0 || len(spec.Workloads) != 1 || spec.Workloads[0].Sweep == nil {
		return spec.Variants
	}
	combinations, err := combine("", spec.Workloads[0].Sweep, isTunable)
	if err != nil || len(combinations[0]) == 0 {
		return nil
	}
	var out []v1alpha1.Variant
	for _, settings := range combinations {
		v := v1alpha1.Variant{}
		var names []string
		for _, s := range settings {
			names = append(names, strings.ReplaceAll(fit(s.parameter[strings.LastIndex(s.parameter, ".")+1:]+"-"+s.value), "_", "-"))
			v.Tunables = append(v.Tunables, v1alpha1.Tunable{Name: s.parameter, Value: v1alpha1.Text(s.value)})
		}
		v.Name = shorten(strings.Join(names, "-"), 40)
		if slices.ContainsFunc(out, func(o v1alpha1.Variant) bool { return o.Name == v.Name }) {
			v.Name = shorten(v.Name, 31) + "-" + Hash(fmt.Sprint(settings)) // -1 and 1
		}
		out = append(out, v)
	}
	return out
}

// checkTunableSweeps finds what is wrong with sweeps over tunables.
func checkTunableSweeps(spec v1alpha1.StorageBenchmarkSpec) error {
	for _, w := range spec.Workloads {
		if w.Sweep == nil {
			continue
		}
		for _, p := range w.Sweep.Over {
			field := fmt.Sprintf("spec.workloads[%s].sweep.over[%s]", w.Name, p.Parameter)
			switch {
			case !isTunable(p.Parameter):
			case len(spec.Variants) > 0:
				return invalid(field, "a tunable is swept as variants, and the benchmark has variants of its own", "add its values to spec.variants, or remove those")
			case len(spec.Workloads) > 1:
				return invalid(field, fmt.Sprintf("a tunable is swept as variants, which every workload is measured with, and the benchmark has %d workloads", len(spec.Workloads)), "make a benchmark for this workload, or list the values in spec.variants")
			}
		}
	}
	return nil
}

// laidOutAlike are options of fio that leave its files as they are: points that differ in nothing else
// share them, so that a sweep takes no more of a volume than one workload.
var laidOutAlike = []string{"iodepth", "bs", "rate", "rate_iops", "offeredRate", "arrivals", "rwmixread", "rwmixwrite", "thinktime", "ioengine", "runtime", "ramp_time", "numa_mem_policy"}

// sharesFiles reports whether the points of a sweep can use the same files.
func sharesFiles(w v1alpha1.Workload, settings []setting) bool {
	return w.Fio != nil && w.Fio.Parameters != nil && !slices.ContainsFunc(settings, func(s setting) bool { return !slices.Contains(laidOutAlike, s.parameter) })
}

// sweeps are those of the plan: one for each swept workload, and for each variant of the spec.
func sweeps(spec v1alpha1.StorageBenchmarkSpec, points [][]point, variants []v1alpha1.Variant) []trial.Sweep {
	var out []trial.Sweep
	for i, w := range spec.Workloads {
		if w.Sweep == nil || w.Sweep.SLO != nil {
			continue
		}
		var parameters []string
		for _, p := range w.Sweep.Over {
			parameters = append(parameters, p.Parameter)
		}
		if len(spec.Variants) == 0 { // tunables, if there are any, are points
			out = append(out, trial.Sweep{Workload: w.Name, Parameters: parameters, Points: trialPoints(parameters, points[i], variants)})
		}
		for _, v := range spec.Variants {
			out = append(out, trial.Sweep{Workload: w.Name, Variant: v.Name, Parameters: parameters, Points: trialPoints(parameters, points[i], []v1alpha1.Variant{{Name: v.Name}})})
		}
	}
	return out
}

// trialPoints are the points of a workload with each variant, with the values of the parameters.
func trialPoints(parameters []string, points []point, variants []v1alpha1.Variant) []trial.SweepPoint {
	if len(variants) == 0 {
		variants = []v1alpha1.Variant{{}}
	}
	var out []trial.SweepPoint
	for _, p := range points {
		for _, v := range variants {
			values := map[string]string{}
			for _, s := range p.settings {
				values[s.parameter] = s.value
			}
			for _, t := range v.Tunables {
				values[t.Name] = t.Value.Text
			}
			to := trial.SweepPoint{Cell: trial.Cell{Workload: p.workload.Name, Variant: v.Name}}
			for _, name := range parameters {
				to.Values = append(to.Values, values[name])
			}
			out = append(out, to)
		}
	}
	return out
}

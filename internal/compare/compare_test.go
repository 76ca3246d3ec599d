package compare

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
)

// est is an estimate of n trials with an interval, if n is enough for one.
func est(unit string, n int, low, median, high float64) result.Estimate {
	e := result.Estimate{Unit: unit, N: n, Median: median}
	if n >= 6 {
		e.Low, e.High = &low, &high
	}
	return e
}

func row(target, workload, node string, metrics map[string]result.Estimate) result.Row {
	return result.Row{Target: target, Workload: workload, Node: node, N: 6, Metrics: metrics}
}

func iops(low, median, high float64) map[string]result.Estimate {
	return map[string]result.Estimate{"read.iops": est(result.PerSecond, 6, low, median, high)}
}

func summary(rows ...result.Row) result.Summary { return result.Summary{Rows: rows} }

func TestVerdictsOnOneMetric(t *testing.T) {
	for name, c := range map[string]struct {
		metric        string
		first, second result.Estimate
		want          Verdict
		reason        string
		low, high     float64 // of the ratio; 0: none
	}{
		"a rate that stayed":                         {metric: "read.iops", first: est("1/s", 6, 990, 1000, 1010), second: est("1/s", 6, 980, 1000, 1010), want: NoWorse, low: 980.0 / 1010, high: 1010.0 / 990},
		"a rate that grew":                           {metric: "read.iops", first: est("1/s", 6, 990, 1000, 1010), second: est("1/s", 6, 1900, 2000, 2100), want: NoWorse, low: 1900.0 / 1010, high: 2100.0 / 990},
		"a rate that fell":                           {metric: "write.rate", first: est("1/s", 6, 990, 1000, 1010), second: est("1/s", 6, 880, 900, 910), want: Regression, low: 880.0 / 1010, high: 910.0 / 990},
		"a bandwidth that fell by less than allowed": {metric: "write.bandwidth", first: est("bytes/s", 6, 999, 1000, 1001), second: est("bytes/s", 6, 960, 970, 980), want: NoWorse, low: 960.0 / 1001, high: 980.0 / 999},
		"a bandwidth that fell by about that":        {metric: "write.bandwidth", first: est("bytes/s", 6, 990, 1000, 1010), second: est("bytes/s", 6, 940, 950, 960), want: Inconclusive, reason: "includes the limit", low: 940.0 / 1010, high: 960.0 / 990},
		"a latency that fell":                        {metric: "read.latency.p99", first: est("seconds", 6, 0.0099, 0.01, 0.0101), second: est("seconds", 6, 0.0049, 0.005, 0.0051), want: NoWorse, low: 0.0049 / 0.0101, high: 0.0051 / 0.0099},
		"a latency that grew":                        {metric: "read.latency.p99", first: est("seconds", 6, 0.0099, 0.01, 0.0101), second: est("seconds", 6, 0.014, 0.015, 0.016), want: Regression, low: 0.014 / 0.0101, high: 0.016 / 0.0099},
		"a duration that grew":                       {metric: "drain.duration", first: est("seconds", 6, 9.9, 10, 10.1), second: est("seconds", 6, 14, 15, 16), want: Regression, low: 14 / 10.1, high: 16 / 9.9},
		"five trials":                                {metric: "read.iops", first: est("1/s", 6, 990, 1000, 1010), second: est("1/s", 5, 0, 100, 0), want: Inconclusive, reason: "the second run has only 5 trials"},
		"one imported file":                          {metric: "read.iops", first: est("1/s", 1, 0, 1000, 0), second: est("1/s", 6, 1, 100, 1000), want: Inconclusive, reason: "the first run has only 1 trial"},
		"an interval that reaches 0":                 {metric: "read.iops", first: est("1/s", 6, 0, 10, 20), second: est("1/s", 6, 9, 10, 11), want: Inconclusive, reason: "includes 0"},
		"nothing at all":                             {metric: "read.iops", first: est("1/s", 6, 0, 0, 0), second: est("1/s", 6, 0, 0, 0), want: Inconclusive, reason: "includes 0"},
	} {
		m := metric(c.metric, c.first, c.second, 0.05)
		if m.Verdict != c.want || !strings.Contains(m.Reason, c.reason) || (c.reason == "") != (m.Reason == "") {
			t.Errorf("%s: %s, %q", name, m.Verdict, m.Reason)
		}
		if (m.Low != nil) != (c.low != 0) || m.Low != nil && (*m.Low <= c.low || *m.Low >= *m.Ratio || *m.High >= c.high || *m.High <= *m.Ratio) {
			t.Errorf("%s: the interval is %v to %v, want inside of %v to %v", name, *m.Low, *m.High, c.low, c.high)
		}
		if c.first.Median > 0 && *m.Ratio != c.second.Median/c.first.Median {
			t.Errorf("%s: the ratio is %v", name, *m.Ratio)
		}
	}
}

func TestRowsAreMatchedByNameAndElseByWorkload(t *testing.T) {
	m := iops(9, 10, 11)
	for name, c := range map[string]struct {
		first, second             []result.Row
		pairs                     []string
		onlyInFirst, onlyInSecond int
	}{
		"the same names in another order": {
			first:  []result.Row{row("a", "w", "n1", m), row("a", "w", "n2", m)},
			second: []result.Row{row("a", "w", "n2", m), row("a", "w", "n1", m)},
			pairs:  []string{"a/w/n1=a/w/n1", "a/w/n2=a/w/n2"},
		},
		"another target with the same workload": {
			first: []result.Row{row("old", "w", "n1", m)}, second: []result.Row{row("new", "w", "n2", m)},
			pairs: []string{"old/w/n1=new/w/n2"},
		},
		"names first, and the workload for what is left": {
			first:  []result.Row{row("old", "w", "n", m), row("a", "w", "n", m)},
			second: []result.Row{row("a", "w", "n", m), row("new", "w", "n", m)},
			pairs:  []string{"old/w/n=new/w/n", "a/w/n=a/w/n"},
		},
		"two that could be meant": {
			first:       []result.Row{row("old", "w", "n", m), row("a", "w", "n", m)},
			second:      []result.Row{row("a", "w", "n", m), row("x", "w", "n", m), row("y", "w", "n", m)},
			pairs:       []string{"a/w/n=a/w/n"},
			onlyInFirst: 1, onlyInSecond: 2,
		},
		"a workload that is gone": {
			first:       []result.Row{row("a", "w", "n", m), row("a", "v", "n", m)},
			second:      []result.Row{row("a", "w", "n", m)},
			pairs:       []string{"a/w/n=a/w/n"},
			onlyInFirst: 1,
		},
		"a workload that is new": {
			first:        []result.Row{row("a", "w", "n", m)},
			second:       []result.Row{row("a", "w", "n", m), row("a", "v", "n", m)},
			pairs:        []string{"a/w/n=a/w/n"},
			onlyInSecond: 1,
		},
	} {
		c1, err := Summaries(summary(c.first...), summary(c.second...), 0.5)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var pairs []string
		for _, p := range c1.Pairs {
			pairs = append(pairs, p.First.String()+"="+p.Second.String())
		}
		if diff := cmp.Diff(c.pairs, pairs); diff != "" || len(c1.OnlyInFirst) != c.onlyInFirst || len(c1.OnlyInSecond) != c.onlyInSecond {
			t.Errorf("%s: %s\nonly in the first: %v, in the second: %v", name, diff, c1.OnlyInFirst, c1.OnlyInSecond)
		}
		want := NoWorse
		if c.onlyInFirst > 0 {
			want = Inconclusive // what is missing is not "no worse"
		}
		if c1.Verdict != want {
			t.Errorf("%s: %s", name, c1.Verdict)
		}
	}
}

func TestTheWorstVerdictIsThatOfTheRun(t *testing.T) {
	good, bad, vague := iops(990, 1000, 1010), iops(490, 500, 510), iops(100, 1000, 2000)
	for name, c := range map[string]struct {
		second []result.Row
		want   Verdict
	}{
		"all good":                     {[]result.Row{row("a", "w", "n", good), row("a", "v", "n", good)}, NoWorse},
		"one bad":                      {[]result.Row{row("a", "w", "n", good), row("a", "v", "n", bad)}, Regression},
		"one vague":                    {[]result.Row{row("a", "w", "n", vague), row("a", "v", "n", good)}, Inconclusive},
		"one vague, one bad":           {[]result.Row{row("a", "w", "n", vague), row("a", "v", "n", bad)}, Regression},
		"one has no metric in common":  {[]result.Row{row("a", "w", "n", good), row("a", "v", "n", nil)}, Inconclusive},
		"one has metrics that are new": {[]result.Row{row("a", "w", "n", good), row("a", "v", "n", good), row("b", "u", "n", bad)}, NoWorse},
	} {
		got, err := Summaries(summary(row("a", "w", "n", good), row("a", "v", "n", good)), summary(c.second...), 0.05)
		if err != nil || got.Verdict != c.want {
			t.Errorf("%s: %s, %v", name, got.Verdict, err)
		}
	}
}

func TestWhatIsCompared(t *testing.T) {
	e := est("1/s", 6, 9, 10, 11)
	seconds := est("seconds", 6, 9, 10, 11)
	a := row("a", "w", "n", map[string]result.Estimate{
		"read.iops": e, "read.bandwidth": e, "read.ios": e, "read.latency.p50": seconds, "read.latency.p99": seconds, "read.latency.max": seconds,
		"flood.bandwidth": e, "sync.latency.p99": seconds, "drain.duration": seconds, "cpu.user": e, "write.iops": e, "odd.duration": e,
	})
	b := row("a", "w", "n", map[string]result.Estimate{})
	maps.Copy(b.Metrics, a.Metrics)
	delete(b.Metrics, "write.iops")
	b.Metrics["odd.duration"] = seconds // in another unit
	want := []string{"flood.bandwidth", "read.iops", "read.latency.p99", "drain.duration", "sync.latency.p99"}
	if diff := cmp.Diff(want, shared(a, b)); diff != "" {
		t.Error(diff)
	}
	a.Operations = []string{"read", "flood"}
	if got := shared(a, b); got[0] != "read.iops" {
		t.Errorf("the engine's order is lost: %v", got)
	}
}

func TestWithNothingInCommonThereIsNoVerdict(t *testing.T) {
	m := iops(9, 10, 11)
	for name, c := range map[string]struct {
		first, second result.Summary
		want          string
	}{
		"other workloads":    {summary(row("a", "w", "n", m)), summary(row("a", "v", "n", m)), "a/w/n, the second a/v/n"},
		"an empty summary":   {summary(), summary(row("a", "v", "n", m)), "the first has none"},
		"only counts":        {summary(row("a", "w", "n", map[string]result.Estimate{"read.ios": est("count", 6, 1, 1, 1)})), summary(row("a", "w", "n", map[string]result.Estimate{"read.ios": est("count", 6, 1, 1, 1)})), "no metric in common"},
		"no metric the same": {summary(row("a", "w", "n", m)), summary(row("a", "w", "n", map[string]result.Estimate{"write.iops": m["read.iops"]})), "no metric in common"},
	} {
		if c, err := Summaries(c.first, c.second, 0.05); err == nil || c.Verdict != "" {
			t.Errorf("%s: %s, %v", name, c.Verdict, err)
		}
		if _, err := Summaries(c.first, c.second, 0.05); err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The interval is said to be conservative: of runs of the same storage it must hold
// the true ratio at least 95 times in 100, whatever the distribution.
func TestTheIntervalHoldsTheRatioMoreOftenThan95Percent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := map[string]func() float64{
		"normal":     func() float64 { return 100 + 10*r.NormFloat64() },
		"log-normal": func() float64 { return math.Exp(r.NormFloat64()) },
		"two modes":  func() float64 { return 100 + 50*float64(r.IntN(2)) + r.Float64() },
	}
	for _, name := range slices.Sorted(maps.Keys(draw)) { // in one order, as they share a generator
		for _, n := range []int{6, 9, 20} {
			held, rounds := 0, 2000
			for range rounds {
				low, high, reason := interval(sample(n, draw[name]), sample(n, draw[name]))
				if reason != "" {
					t.Fatal(reason)
				}
				if low <= 1 && 1 <= high {
					held++
				}
			}
			if share := float64(held) / float64(rounds); share < 0.95 {
				t.Errorf("%s, n = %d: the interval held the ratio in %.1f %%", name, n, share*100)
			}
		}
	}
}

func sample(n int, draw func() float64) result.Estimate {
	values := make([]float64, n)
	for i := range values {
		values[i] = draw()
	}
	low, high, _ := stats.MedianInterval(values, stats.Confidence)
	return result.Estimate{N: n, Median: stats.Median(values), Low: &low, High: &high}
}

func TestTheTableSaysWhyThereIsNoVerdict(t *testing.T) {
	few := map[string]result.Estimate{"read.iops": est("1/s", 2, 0, 500, 0), "write.bandwidth": est("bytes/s", 2, 0, 1<<20, 0), "write.latency.p99": est("seconds", 2, 0, 0.002, 0)}
	second := summary(row("new", "w", "n", few), row("b", "v", "n", few))
	second.Imported = &result.Imported{Tool: "fio"}
	second.Planned, second.Stored = 3, 2
	c, err := Summaries(summary(row("old", "w", "n", few)), second, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := c.Table(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"old -> new  n     w         read.iops          higher  500", "1.00 MiB/s", "2.00ms", "1.000", "only in the second: b/v/n",
		"the second run was imported from the output of fio", "the second run has only 2 of 3 trials",
		"inconclusive: an interval needs 6 trials, but the first run has only 2 trials", "\ninconclusive (allowed regression: 5 %)\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, text.String())
		}
	}
	if strings.Count(text.String(), "an interval needs 6 trials") != 1 {
		t.Errorf("a reason is there more than once:\n%s", text.String())
	}
	if b, err := json.Marshal(c); err != nil || !strings.Contains(string(b), `"verdict":"Inconclusive"`) || !strings.Contains(string(b), `"better":"Higher"`) {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestPartsAreComparedWithTheirLikes(t *testing.T) {
	part := func(name string, rate float64) result.Row {
		r := row("fast", "w", "a", iops(rate, rate, rate))
		r.Part = name
		return r
	}
	mixture := row("fast", "w", "a", map[string]result.Estimate{"device.read.bytes": est(result.Bytes, 6, 1, 1, 1)})
	got, err := Summaries(summary(mixture, part("log", 10), part("scan", 20)), summary(mixture, part("scan", 20), part("log", 5)), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict != Regression || len(got.Pairs) != 2 || got.Pairs[0].First.String() != "fast/w[log]/a" || got.Pairs[0].Metrics[0].Verdict != Regression || got.Pairs[1].Metrics[0].Verdict != NoWorse {
		t.Errorf("%+v", got)
	}
	got, err = Summaries(summary(mixture, part("log", 10), part("scan", 20)), summary(mixture, part("log", 10)), 0.05)
	if err != nil || got.Verdict != Inconclusive || len(got.OnlyInFirst) != 1 || got.OnlyInFirst[0].Part != "scan" {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestLatenciesOfAnOlderRunAreOfAnotherKind(t *testing.T) {
	latency := est(result.Seconds, 6, 1, 2, 3)
	older := summary(row("fast", "w", "a", map[string]result.Estimate{"read.latency.p99": latency}), row("slow", "w", "a", map[string]result.Estimate{"read.latency.p99": latency}))
	newer := summary(row("fast", "w", "a", map[string]result.Estimate{"read.latency.p99": latency, "read.completion.p99": latency}), row("slow", "w", "a", map[string]result.Estimate{"read.latency.p99": latency, "read.completion.p99": latency}))
	for name, c := range map[string]struct {
		first, second result.Summary
		want          []string
	}{
		"an older and a newer": {older, newer, []string{otherLatenciesNote}},
		"the other way around": {newer, older, []string{otherLatenciesNote}},
		"two older":            {older, older, nil},
		"two newer":            {newer, newer, nil},
	} {
		got, err := Summaries(c.first, c.second, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Notes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCompletionLatenciesAreComparedIfThereAreNoOthers(t *testing.T) {
	latency := est(result.Seconds, 6, 1, 2, 3)
	imported := row("fast", "w", "a", map[string]result.Estimate{"read.latency.mean": latency, "read.completion.p99": latency})
	both := row("fast", "w", "a", map[string]result.Estimate{"read.latency.mean": latency, "read.latency.p99": latency, "read.completion.p99": latency})
	imported.Operations, both.Operations = []string{"read"}, []string{"read"}
	for name, c := range map[string]struct {
		first, second result.Row
		want          string
	}{
		"imports":          {imported, imported, "read.completion.p99"},
		"an import, a run": {imported, both, "read.completion.p99"},
		"a run, an import": {both, imported, "read.completion.p99"},
		"runs":             {both, both, "read.latency.p99"},
	} {
		if got := shared(c.first, c.second); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// Numbers are compared with those of their kind, and of no other.
func TestNumbersOfDifferentKindsAreNotCompared(t *testing.T) {
	of := func(verdicts ...string) result.Row {
		r := row("fast", "oltp", "a", iops(990, 1000, 1010))
		for _, name := range verdicts {
			v := result.Verdict{Name: name, Effect: result.Invalidates, Operation: "read"}
			if name == "Throttled" {
				v.Effect = result.Qualifies
			}
			r.Verdicts = append(r.Verdicts, result.RowVerdict{Verdict: v, Trials: 1})
		}
		return r
	}
	for name, c := range map[string]struct {
		first, second result.Row
		want          Verdict
		reason        string
	}{
		"both stand":                  {of(), of(), NoWorse, ""},
		"a qualified one stands":      {of(), of("Throttled"), NoWorse, ""},
		"both of memory":              {of("FromMemory"), of("FromMemory"), NoWorse, ""},
		"in another order":            {of("FromMemory", "Other"), of("Other", "FromMemory"), NoWorse, ""},
		"the second of memory":        {of(), of("FromMemory"), Inconclusive, "that of the second is invalidated by FromMemory"},
		"the first of memory":         {of("FromMemory"), of(), Inconclusive, "that of the first run is invalidated by FromMemory"},
		"of memory and of a loop":     {of("FromMemory"), of("CachedBelow"), Inconclusive, "CachedBelow"},
		"one of them of memory twice": {of("FromMemory"), of("FromMemory", "MemoryBacked"), Inconclusive, "FromMemory and MemoryBacked"},
	} {
		got, err := Summaries(summary(c.first), summary(c.second), 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if m := got.Pairs[0].Metrics[0]; m.Verdict != c.want || !strings.Contains(m.Reason, c.reason) || got.Verdict != c.want {
			t.Errorf("%s: %s, %q", name, m.Verdict, m.Reason)
		}
	}
}

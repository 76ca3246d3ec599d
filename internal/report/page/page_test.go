package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func write(t *testing.T, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile is a text that tries everything that a text can try.
const hostile = "\u202e\u2066" + `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'{{.}}` + "\u2028`"

// sample is a run whose every text is text.
func sample(text string) result.Summary {
	h := &histogram.Histogram{}
	for i := range uint64(2000) {
		h.Add(100_000+i*500, 1)
	}
	return result.Summary{
		Schema: result.SummarySchema, Benchmark: trial.Benchmark{Namespace: "lab", Name: text}, Run: text, Planned: 12, Stored: 12,
		FinishedAt: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC),
		Rows: []result.Row{{
			Target: text, Workload: text, Node: text, Variant: text, N: 6,
			Metrics: map[string]result.Estimate{
				"read.iops":        {Unit: result.PerSecond, N: 6, Median: 22934.25, Low: new(20100.5), High: new(27400.0)},
				"read.latency.p99": {Unit: result.Seconds, N: 6, Median: 0.0011, Pooled: new(0.0012)},
				"read.bandwidth":   {Unit: result.BytesPerSecond, N: 6, Median: 93938688},
				"a/b~c":            {Unit: text, N: 6, Median: 3},
			},
			Operations: []string{"read"},
			Verdicts: []result.RowVerdict{{Trials: 2, Verdict: result.Verdict{
				Name: "FromMemory", Effect: result.Invalidates, Operation: "read", Sentence: text, Settle: text,
				Evidence: result.Metrics{text: {Unit: result.Bytes, Value: 4096}},
			}}},
			Histograms: result.Histograms{"read": h},
		}},
		Answer: &result.Answer{Answer: result.NotQualified, Sentence: text, SpeaksFor: text},
		Gates: []result.Gate{{
			Target: text, Node: text, Workload: text, Part: text, Variant: text, Metric: "read.iops", Unit: result.PerSecond, Limit: 30000, Text: text,
			N: 6, Value: new(22934.25), Low: new(20100.5), High: new(27400.0), Outcome: result.GateMissed, Sentence: text,
		}},
		Comparisons: []result.Comparison{{
			Primary: &result.Decision{Metric: "read.iops", Outcome: "Worse", Sentence: text},
			Target:  text, Workload: text, Node: text, Variant: text, Control: text, Operations: []string{"read"},
			Metrics: map[string]result.Change{"read.iops": {Unit: result.PerSecond, Pairs: 6, Control: 100, Variant: 90, Ratio: &result.Interval{Median: 0.9, Low: new(0.85), High: new(0.95)}}},
		}},
		Environment: map[string]*result.Environment{text: {
			Hostname: text, Kernel: text, Tools: map[string]string{"storagebench": text, text: text},
			Target: result.TargetEnvironment{FilesystemType: text, MountOptions: text, Layers: []result.Layer{{ID: text, Kind: "Disk", Type: text, Note: text, Below: []string{text}}}, Devices: []result.Device{{Name: text, Queue: map[string]string{text: text}}}},
		}},
		Failures: map[string]*trial.Failure{text: {Class: "NoSpace", Message: text}},
		Imported: &result.Imported{Tool: text, Notes: []string{text}, Files: []result.ImportedFile{{Name: text}}},
	}
}

func TestTextsOfATenantStayTexts(t *testing.T) {
	honest, attacked := write(t, Input{Summary: sample("name"), Location: "x"}), write(t, Input{Summary: sample(hostile), Location: hostile})
	tags := regexp.MustCompile(`<[a-zA-Z/!][^>]*`)
	count := func(page string) int {
		return len(tags.FindAllString(strings.ReplaceAll(page, asset("page.js"), ""), -1))
	}
	if got, want := count(attacked), count(honest); got != want {
		t.Errorf("%d tags with hostile texts, %d with honest ones", got, want)
	}
	for _, bad := range []string{"<img", "</script><script>alert", "onerror=alert(2)>", "\u202e", "\u2066"} {
		if strings.Contains(attacked, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	block := dataOf(t, attacked)
	if strings.ContainsAny(block, "<>&\u2028") {
		t.Errorf("the data contains characters that HTML or a script could read: %.200s", block)
	}
}

// dataOf returns the page's block of JSON.
func dataOf(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	block, _, end := strings.Cut(rest, "</script>")
	if !ok || !end || !json.Valid([]byte(block)) {
		t.Fatalf("the page's data is no JSON: %.200s", block)
	}
	return block
}

func TestEveryNumberIsThatOfTheSummary(t *testing.T) {
	s := sample("name")
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`<data value="([^"]*)" data-at="([^"]*)">`).FindAllStringSubmatch(write(t, Input{Summary: s}), -1)
	if len(numbers) < 15 {
		t.Fatalf("the page has %d numbers", len(numbers))
	}
	for _, n := range numbers {
		value := document
		for part := range strings.SplitSeq(strings.TrimPrefix(n[2], "/"), "/") {
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			switch v := value.(type) {
			case map[string]any:
				value = v[part]
			case []any:
				value = v[int(part[0]-'0')]
			}
		}
		got, err := strconv.ParseFloat(n[1], 64)
		if err != nil || got != value {
			t.Errorf("%s is %v in the summary and %s in the page", n[2], value, n[1])
		}
	}
}

func TestThePolicyAllowsThePagesOwnScriptsAndNothingElse(t *testing.T) {
	page := write(t, Input{Summary: sample("name")})
	policy := html.UnescapeString(regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1])
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</`).FindAllStringSubmatch(page, -1) {
		if want := source(m[2]); !strings.Contains(policy, want) {
			t.Errorf("the policy does not allow a %s of %d bytes: %s not in %s", m[1], len(m[2]), want, policy)
		}
	}
	for _, bad := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy has %s: %s", bad, policy)
		}
	}
	if strings.Contains(page, " style=") || regexp.MustCompile(`(?i)\s(src|href|onload|onclick)=`).MatchString(strings.ReplaceAll(page, asset("uplot/uPlot.iife.min.js"), "")) {
		t.Error("the page has a style, a handler or an address, which its policy forbids")
	}
}

func TestTheChartingLibraryIsTheOneThatWasChosen(t *testing.T) {
	for name, want := range map[string]string{
		"uplot/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot/uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		sum := sha256.Sum256([]byte(asset(name)))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has digest %s, want %s", name, got, want)
		}
	}
	if js := asset("uplot/uPlot.iife.min.js"); !strings.Contains(js, "(v"+uPlotVersion+")") || strings.Contains(js, "</script") {
		t.Errorf("uPlot is not version %s, or it ends the script that it is in", uPlotVersion)
	}
	if !strings.Contains(write(t, Input{Summary: sample("name")}), "Permission is hereby granted") {
		t.Error("a report contains uPlot without its licence")
	}
}

func TestPageJSDrawsEveryKindOfChart(t *testing.T) {
	body := regexp.MustCompile(`(?s)const kinds = \{\n(.*?)\n  \};`).FindStringSubmatch(asset("page.js"))
	if body == nil {
		t.Fatal("page.js has no table of kinds")
	}
	var drawn []string
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z]+): \(`).FindAllStringSubmatch(body[1], -1) {
		drawn = append(drawn, m[1])
	}
	var want []string
	for _, k := range kinds {
		want = append(want, string(k))
	}
	slices.Sort(drawn)
	slices.Sort(want)
	if !slices.Equal(drawn, want) {
		t.Errorf("page.js draws %q, want %q", drawn, want)
	}
}

func TestNamesThatSomebodyChoseRunNothingInACommand(t *testing.T) {
	for text, want := range map[string]string{
		"fast":         "fast",
		"s3://b/ns/n":  "s3://b/ns/n",
		"":             "''",
		"-rf":          "'-rf'",
		"$(reboot)":    "'$(reboot)'",
		"a'; reboot #": `'a'\''; reboot #'`,
		"a\nreboot":    "'areboot'",
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestTheAnswerComesFirst(t *testing.T) {
	row := func(verdicts ...result.RowVerdict) result.Row {
		return result.Row{Target: "t", Workload: "w", Node: "n", N: 6, Verdicts: verdicts, Metrics: map[string]result.Estimate{"read.iops": {Unit: result.PerSecond, N: 6, Median: 5}}}
	}
	invalid := result.RowVerdict{Verdict: result.Verdict{Name: "FromMemory", Effect: result.Invalidates}}
	for word, c := range map[string]struct {
		summary result.Summary
		class   string
	}{
		"Nothing measured": {result.Summary{}, "bad"},
		"Measured":         {result.Summary{Rows: []result.Row{row()}}, "open"},
		"Incomplete":       {result.Summary{Rows: []result.Row{row()}, Planned: 7, Stored: 6}, "open"},
		"Invalid":          {result.Summary{Rows: []result.Row{row(invalid)}}, "bad"},
		"Partly invalid":   {result.Summary{Rows: []result.Row{row(), row(invalid)}, Answer: &result.Answer{Answer: result.JustMeasured}}, "bad"},
		"Qualified":        {result.Summary{Rows: []result.Row{row()}, Answer: &result.Answer{Answer: result.Qualified, Sentence: "all gates are met"}}, "good"},
		"Not qualified":    {result.Summary{Rows: []result.Row{row()}, Answer: &result.Answer{Answer: result.NotQualified}}, "bad"},
		"Regression":       {result.Summary{Rows: []result.Row{row()}, Answer: &result.Answer{Answer: result.Regression, Sentence: "worse than run g1"}}, "bad"},
		"Inconclusive":     {result.Summary{Rows: []result.Row{row()}, Answer: &result.Answer{Answer: result.Inconclusive}}, "open"},
	} {
		places, _ := shown(c.summary)
		if a := answer(c.summary, places); a.Word != word || a.Class != c.class || a.Sentence == "" {
			t.Errorf("%+v, want %q in %s", a, word, c.class)
		}
	}
	page := write(t, Input{Summary: sample("name")})
	if first, next := strings.Index(page, "Not qualified"), strings.Index(page, "What the numbers are worth"); first < 0 || first > next {
		t.Error("the answer does not come first")
	}
}

func TestAnAnswerSpeaksForWhatWasReplicated(t *testing.T) {
	row := func(volumes int, speaksFor string) result.Row {
		return result.Row{Target: "t", Workload: "w", Node: "n", N: 9, Volumes: volumes, SpeaksFor: speaksFor, Metrics: map[string]result.Estimate{"read.iops": {Unit: result.PerSecond, N: 9, Median: 5}}}
	}
	for want, rows := range map[string][]result.Row{
		"not for other volumes":                       {row(0, "this volume on n")},
		"on 3 volumes of each row":                    {row(3, "volumes of class fast on n"), row(4, "volumes of class fast on n")},
		"speaks for volumes of this class":            {row(3, "volumes of class fast on n")},
		"on what was measured at that time, and not ": {row(6, "this volume, in 6 rounds on n")},
	} {
		s := result.Summary{Rows: rows}
		places, _ := shown(s)
		if got := answer(s, places).SpeaksFor; !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	s := result.Summary{Rows: []result.Row{row(6, "this volume, in 6 rounds on n")}}
	places, _ := shown(s)
	if got := answer(s, places).SpeaksFor; strings.Contains(got, "class") {
		t.Errorf("rounds on one volume speak for it alone: %q", got)
	}
}

// A ratio of which a side is invalid is struck through, and says why; no run without one has a column for it.
func TestARatioSaysThatASideIsInvalid(t *testing.T) {
	s := result.Summary{
		Rows: []result.Row{{Target: "t", Node: "n", Workload: "w", Variant: "b", N: 6, Operations: []string{"read", "write"}, Verdicts: []result.RowVerdict{{Verdict: result.Verdict{Name: "FromMemory", Effect: result.Invalidates, Operation: "write"}}}}},
		Comparisons: []result.Comparison{{
			Target: "t", Node: "n", Workload: "w", Variant: "b", Control: "a", Operations: []string{"read", "write"},
			Metrics: map[string]result.Change{"read.iops": {Pairs: 6}, "write.iops": {Pairs: 6}},
		}},
	}
	table := func() string {
		var b strings.Builder
		if err := Write(&b, Input{Summary: s}); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(b.String(), `<section id="comparisons">`)
		text, _, _ = strings.Cut(text, "</section>")
		return text
	}
	if text := table(); !strings.Contains(text, `<td class="worth">variant invalid: FromMemory</td>`) || strings.Count(text, `class="invalid"`) != 1 || strings.Count(text, `<td class="worth">`) != 2 {
		t.Errorf("it is not said once:\n%s", text)
	}
	s.Rows = nil
	if text := table(); strings.Contains(text, "Verdicts") || strings.Contains(text, "worth") {
		t.Errorf("there is a column:\n%s", text)
	}
}

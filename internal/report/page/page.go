package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Input is what a report is made of.
type Input struct {
	Summary result.Summary
	// Workers are the trials, if they are known.
	Workers []report.WorkerTrials
	// Series are the samples of trials, if there are any, and SeriesLeft is of how many trials
	// there are none.
	Series     []Series
	SeriesLeft int
	// Location of the run's documents, as storagebench report takes it; empty: not known.
	Location string
}

// view is what the template shows.
type view struct {
	assets
	Title, Run, Finished, Version string
	Planned, Stored               *Number
	Imported                      *result.Imported
	Answer                        Answer
	Gates                         []Gate
	GatesLeft                     int
	Decisions                     []Decided
	Failures                      []Failed
	FailuresLeft                  int
	Verdicts                      []Verdict
	VerdictsLeft                  int
	Tables                        []Table
	RowsLeft                      int
	Metrics                       []Metrics
	MetricsLeft                   int
	Latency                       []Chart
	LatencyLeft                   int
	Sweeps                        []Swept
	Curves                        []Chart
	Trials                        []Chart
	TrialsLeft, TrialChartsLeft   int
	Timelines                     []Chart
	TimelinesLeft, SeriesLeft     int
	Settings                      []Setting
	SettingsLeft                  int
	Comparisons                   []Compared
	ComparisonsLeft               int
	ComparisonsJudged             bool
	Places                        []Place
	PlacesLeft                    int
	Steps                         []Step
	Data                          data
}

// data is what page.js draws.
type data struct {
	Charts  []Chart   `json:"charts"`
	Metrics []Metrics `json:"metrics"`
}

// Write writes the page.
func Write(w io.Writer, in Input) error {
	v := newView(in)
	t, err := template.New("page.html").Parse(asset("page.html"))
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(bytes.Map(visible, b.Bytes()))
	return err
}

// visible replaces the characters that turn the direction of text: with them a name could make
// the words around it read otherwise.
func visible(r rune) rune {
	if r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
		return '\ufffd'
	}
	return r
}

func newView(in Input) view {
	s := in.Summary
	places, all := shown(s)
	v := view{
		assets: newAssets(), Run: s.Run, Finished: instant(s.FinishedAt), Version: storagebenchVersion(s),
		Planned: whole(s.Planned, "/planned"), Stored: whole(s.Stored, "/stored"),
		Imported: s.Imported, Answer: answer(s, places), RowsLeft: all - len(places), Tables: tables(places), Steps: reproduce(in),
	}
	v.Title = s.Benchmark.Name
	if s.Benchmark.Namespace != "" {
		v.Title = s.Benchmark.Namespace + "/" + s.Benchmark.Name
	}
	v.Failures, v.FailuresLeft = failures(s)
	v.Gates, v.GatesLeft = gates(s)
	v.Decisions = decisions(s)
	v.Verdicts, v.VerdictsLeft = verdicts(places)
	v.Comparisons, v.ComparisonsLeft = comparisons(s)
	v.ComparisonsJudged = slices.ContainsFunc(v.Comparisons, func(c Compared) bool { return c.Worth != "" })
	v.Places, v.PlacesLeft = environments(s)
	v.Metrics, v.MetricsLeft = allMetrics(places)
	v.Settings, v.SettingsLeft = settings(in.Workers)
	v.Latency, v.LatencyLeft = limited(latencyCharts(places))
	v.Sweeps = swept(s)
	v.Curves, _ = limited(sweepCharts(s))
	v.Trials, v.TrialsLeft = trialCharts(in.Workers)
	v.Trials, v.TrialChartsLeft = limited(v.Trials)
	v.Timelines, v.TimelinesLeft = limited(timelines(in.Series))
	v.SeriesLeft = in.SeriesLeft
	v.Data = data{Charts: []Chart{}, Metrics: v.Metrics}
	for name, charts := range map[string][]Chart{"latency": v.Latency, "trials": v.Trials, "sweep": v.Curves, "timeline": v.Timelines} {
		for i := range charts {
			charts[i].ID = fmt.Sprintf("%s-%d", name, i)
		}
	}
	v.Data.Charts = slices.Concat(v.Curves, v.Latency, v.Timelines, v.Trials)
	return v
}

// limited returns the first charts, and how many are left out.
func limited(charts []Chart) ([]Chart, int) {
	if left := len(charts) - maxCharts; left > 0 {
		return charts[:maxCharts], left
	}
	return charts, 0
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

package page

// Kind is how page.js draws a chart.
type Kind string

// Kinds of charts. page.js has a function of each name in its table "kinds".
const (
	// Percentiles: latency over the percentile, both logarithmic.
	Percentiles Kind = "percentiles"
	// Trials: one point for each trial, over the time at which it ran.
	Trials Kind = "trials"
	// Timeline: series over time, with bands for trials and marks for what was found.
	Timeline Kind = "timeline"
	// Curve: a metric over a parameter, with its interval.
	Curve Kind = "curve"
)

// Kinds are all of them.
var kinds = []Kind{Percentiles, Trials, Timeline, Curve}

// Chart is what page.js draws into the element with the same ID. X is common to all lines, and
// ascends. A nil in a line is a gap.
type Chart struct {
	ID    string `json:"id"`
	Kind  Kind   `json:"kind"`
	Title string `json:"-"`
	// Note is what else to know about the chart, below its title.
	Note string `json:"-"`
	// XUnit and the unit of lines are those of result.Metric; XUnit may also be "time", which is
	// seconds since 1970, and "percentile", which is 1/(1-p).
	XUnit string    `json:"xUnit"`
	XName string    `json:"xName"`
	X     []float64 `json:"x"`
	Lines []Line    `json:"lines"`
	// Bands are stretches of x.
	Bands []Band `json:"bands,omitempty"`
	// Marks are single points of x.
	Marks []Mark `json:"marks,omitempty"`
}

// Line is one series of a chart.
type Line struct {
	Name string     `json:"name"`
	Unit string     `json:"unit"`
	Y    []*float64 `json:"y"`
	// Low and High are the ends of the interval of each point; absent: there is none.
	Low  []*float64 `json:"low,omitempty"`
	High []*float64 `json:"high,omitempty"`
}

// Band is a stretch of x, such as the time of a trial.
type Band struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Name string  `json:"name"`
	// Bad: something speaks against what was measured there.
	Bad bool `json:"bad,omitempty"`
}

// Mark is a point of x at which something was found.
type Mark struct {
	X    float64 `json:"x"`
	Name string  `json:"name"`
}

// Limits of charts: what a page may hold, and what an eye can tell apart.
const (
	maxLines  = 8
	maxPoints = 2000
	maxCharts = 48
)

package result

// GateOutcome is what a gate's numbers show.
type GateOutcome string

// Outcomes of a gate.
const (
	// GateMet: the whole interval is within the limit, and the number is worth something.
	GateMet GateOutcome = "Met"
	// GateMissed: the whole interval is beyond the limit.
	GateMissed GateOutcome = "Missed"
	// GateInconclusive: the interval contains the limit, there is none, or the number is worthless.
	GateInconclusive GateOutcome = "Inconclusive"
)

// Gate is a limit of the benchmark on one row.
type Gate struct {
	Target   string `json:"target"`
	Node     string `json:"node"`
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	// Part of the workload; empty: the whole.
	Part   string `json:"part,omitempty"`
	Metric string `json:"metric"`
	// Unit of Limit, Value, Low and High.
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit"`
	// AtMost reports that the limit is the highest value that is good enough; else the lowest.
	AtMost bool `json:"atMost,omitempty"`
	// Text is the limit as the spec has it.
	Text string `json:"text"`
	// N is the number of trials.
	N int `json:"n"`
	// Value is the median over trials, Low and High the interval that decides, which is absent
	// below 6 trials.
	Value *float64 `json:"value,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`

	Outcome GateOutcome `json:"outcome"`
	// InvalidatedBy are the verdicts that make the number worthless.
	InvalidatedBy []string `json:"invalidatedBy,omitempty"`
	// MoreTrials is about how many more would decide with 80 % probability.
	MoreTrials int `json:"moreTrials,omitempty"`
	// MoreVolumes is the same for volumes, if there are several.
	MoreVolumes int `json:"moreVolumes,omitempty"`
	// Sentence says all that.
	Sentence string `json:"sentence"`
}

// Answer is what a run answers.
type Answer struct {
	// Answer is one of the constants below.
	Answer string `json:"answer"`
	// Sentence says why, with the number.
	Sentence string `json:"sentence"`
	// SpeaksFor says what was replicated, and so what the answer is about.
	SpeaksFor string `json:"speaksFor,omitempty"`
}

// Answers of a run. Better, Worse, NoDifference and Inconclusive are outcomes of comparisons too.
const (
	Qualified    = "Qualified"
	NotQualified = "NotQualified"
	AnswerBetter = "Better"
	AnswerWorse  = "Worse"
	NoDifference = "NoDifference"
	Inconclusive = "Inconclusive"
	Invalid      = "Invalid"
	// Regression: the run is worse than its baseline by more than the benchmark allows.
	Regression = "Regression"
	// JustMeasured: there was no question.
	JustMeasured = "Measured"
)

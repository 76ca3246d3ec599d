package page

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Answer is what the run says, in the order in which people ask: the word, the number, what it
// speaks for.
type Answer struct {
	// Word and Class, which is good, bad or open and colours it.
	Word, Class string
	Sentence    string
	SpeaksFor   string
}

// answer of a run. Documents of releases that gave none, and imported ones, get what their rows
// say: a number that a verdict invalidates is no answer, and a run that did not measure everything
// is not complete.
func answer(s result.Summary, places []place) Answer {
	a := Answer{Word: "Measured", Class: "open", Sentence: report.Headline(s), SpeaksFor: speaksFor(places)}
	if s.Answer != nil {
		if s.Answer.SpeaksFor != "" {
			a.SpeaksFor = s.Answer.SpeaksFor
		}
		if s.Answer.Answer != result.JustMeasured {
			a.Word, a.Class = words(s.Answer.Answer)
			if s.Answer.Sentence != "" {
				a.Sentence = s.Answer.Sentence
			}
			return a
		}
	}
	invalid := 0
	for _, p := range places {
		if slices.ContainsFunc(p.row.Verdicts, func(v result.RowVerdict) bool { return v.Effect == result.Invalidates }) {
			invalid++
		}
	}
	switch {
	case len(places) == 0:
		a.Word, a.Class, a.Sentence = "Nothing measured", "bad", "No trial of the run was measured."
	case invalid == len(places):
		a.Word, a.Class = "Invalid", "bad"
	case invalid > 0:
		a.Word, a.Class = "Partly invalid", "bad"
	case len(s.Failures) > 0 || s.Stored < s.Planned:
		a.Word = "Incomplete"
	}
	return a
}

// words are an answer's word for people, and the class that colours it.
func words(answer string) (word, class string) {
	switch answer {
	case result.NotQualified:
		return "Not qualified", "bad"
	case result.NoDifference:
		return "No difference", "good"
	case result.Qualified, result.AnswerBetter:
		return answer, "good"
	case result.AnswerWorse, result.Invalid, result.Regression:
		return answer, "bad"
	default:
		return answer, "open"
	}
}

// Gate is a limit and what its row showed.
type Gate struct {
	Outcome, Class, Where, Metric, Limit, Sentence string
	Value, Low, High                               *Number
}

// maxGates is how many gates a page shows.
const maxGates = 100

func gates(s result.Summary) (out []Gate, left int) {
	for i, g := range s.Gates {
		if len(out) == maxGates {
			left++
			continue
		}
		at := func(field string) string { return pointer("gates", i, field) }
		class := map[result.GateOutcome]string{result.GateMet: "good", result.GateMissed: "bad"}[g.Outcome]
		if class == "" {
			class = "open"
		}
		where := report.WithPart(g.Workload, g.Part) + ", " + place{row: result.Row{Target: g.Target, Variant: g.Variant, Node: g.Node}}.name()
		out = append(out, Gate{
			Outcome: string(g.Outcome), Class: class, Where: where, Metric: report.MetricName(g.Metric), Limit: report.GateLimit(g), Sentence: g.Sentence,
			Value: optional(g.Unit, g.Value, at("value")), Low: optional(g.Unit, g.Low, at("low")), High: optional(g.Unit, g.High, at("high")),
		})
	}
	return out, left + s.GatesOmitted
}

// Decided is a comparison that a metric decides.
type Decided struct{ Outcome, Class, Where, Sentence string }

func decisions(s result.Summary) (out []Decided) {
	for _, c := range s.Comparisons {
		if c.Primary == nil || len(out) == maxGates {
			continue
		}
		_, class := words(c.Primary.Outcome)
		what := c.Target
		if c.Variant != "" {
			what += " " + c.Variant
		}
		out = append(out, Decided{
			Outcome: c.Primary.Outcome, Class: class, Sentence: c.Primary.Sentence,
			Where: report.WithPart(c.Workload, c.Part) + ", " + what + " against " + c.Control + " on " + c.Node,
		})
	}
	return out
}

// speaksFor says in words what the intervals speak for: what was repeated, and nothing else.
func speaksFor(places []place) string {
	if len(places) == 0 {
		return ""
	}
	least, most := places[0].row.N, places[0].row.N
	nodes, targets := map[string]bool{}, map[string]bool{}
	for _, p := range places {
		least, most = min(least, p.row.N), max(most, p.row.N)
		nodes[p.row.Node], targets[p.row.Target] = true, true
	}
	trials := plural(least, "trial")
	if most != least {
		trials = fmt.Sprintf("%d to %s", least, plural(most, "trial"))
	}
	what := "repeated trials on what was measured at that time, and not for other volumes, nodes or days"
	if volumes := fewestVolumes(places); volumes > 1 {
		trials += fmt.Sprintf(" on %d volumes", volumes)
		what = "volumes of this class on what was measured at that time, and not for other classes, nodes or days"
	}
	return fmt.Sprintf("%s of each row, on %s and %s. An interval speaks for %s.", trials, plural(len(targets), "target"), plural(len(nodes), "node"), what)
}

// fewestVolumes is of how many volumes that were made for the run each row is, at least.
func fewestVolumes(places []place) int {
	fewest := places[0].row.Volumes
	for _, p := range places {
		if fewest = min(fewest, p.row.Volumes); !strings.HasPrefix(p.row.SpeaksFor, "volumes of class ") {
			return 0 // rounds on one volume
		}
	}
	return fewest
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Step is a command with what it does.
type Step struct{ Text, Command string }

// reproduce returns the commands that show the run again, and that measure it again.
func reproduce(in Input) []Step {
	b := in.Summary.Benchmark
	if in.Summary.Imported != nil {
		return []Step{{"Import the tool's output again:", "storagebench import --tool " + quoted(in.Summary.Imported.Tool) + " " + importedFiles(in.Summary.Imported)}}
	}
	var steps []Step
	if b.UID != "" {
		steps = append(steps,
			Step{"What was asked for, from the cluster that ran it:", "kubectl get storagebenchmark --namespace " + quoted(b.Namespace) + " " + quoted(b.Name) + " -o yaml"},
			Step{"Measure it again in that cluster:", "kubectl patch storagebenchmark --namespace " + quoted(b.Namespace) + " " + quoted(b.Name) + ` --type merge --patch '{"spec":{"runID":"'"$(date +%Y%m%d-%H%M%S)"'"}}'`})
	} else {
		steps = append(steps, Step{"Measure it again on this machine, with the file that the run was made from:", "storagebench run -f benchmark.yaml" + targetFlags(in)})
	}
	if in.Location != "" {
		steps = append(steps, Step{"This page and the other formats, from the stored documents:", "storagebench report " + quoted(in.Location) + " -o html --out report.html"})
	}
	return append(steps, Step{"Tell whether another run is slower than this one:", "storagebench compare summary.json OTHER/summary.json"})
}

// targetFlags name the targets whose path the user must give.
func targetFlags(in Input) string {
	var flags strings.Builder
	seen := map[string]bool{}
	for _, r := range in.Summary.Rows {
		if !seen[r.Target] && len(seen) < maxLines {
			seen[r.Target] = true
			flags.WriteString(" --target " + quoted(r.Target) + "=PATH")
		}
	}
	return flags.String()
}

func importedFiles(i *result.Imported) string {
	var names []string
	for _, f := range i.Files {
		if len(names) < maxLines {
			names = append(names, quoted(f.Name))
		}
	}
	return strings.Join(names, " ")
}

// quoted makes one word of a shell of a text, so that a name that somebody chose runs nothing
// when the reader copies the command.
func quoted(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/:-", r)
	}
	if text != "" && !strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	// A line break in a pasted command ends it, also within quotes where a terminal is old.
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

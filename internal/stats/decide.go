package stats

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// decide gives each comparison that has a primary metric its outcome, and a sentence. A number
// that a verdict invalidates decides nothing, whatever its interval, except where a variant stops
// flushes on purpose, which the sentence then says. Of the others, Better and Worse are
// corrected for their number. on has what targets share: the sentence of two that are on the same storage says so.
func decide(p *trial.Plan, rows []result.Row, all []compared, on sharing) []result.Comparison {
	var family []*Comparison
	out := make([]result.Comparison, 0, len(all))
	invalid := make([]string, len(all))
	for i := range all {
		c := &all[i]
		if c.primary == nil {
			continue
		}
		invalid[i] = invalidArms(rows, c.Comparison)
		if invalid[i] == "" {
			family = append(family, c.primary)
		}
	}
	CorrectForAll(family)
	for i := range all {
		c := all[i]
		if c.primary != nil {
			d := *c.Primary
			d.Outcome, d.P, d.Units = string(c.primary.Outcome), c.primary.P, c.primary.Units
			if invalid[i] != "" {
				d.Outcome, d.P, d.Sentence = string(Undecided), 1, invalid[i]
			} else {
				if d.MoreVolumes = c.primary.MoreUnits; c.replicate == "" {
					d.MoreRepeats, d.MoreVolumes = c.primary.MoreUnits*perUnit(p.Order), 0
				}
				d.Sentence = sentence(c, p.Order, len(family))
				if report.Unsafe(rows, c.Comparison, d.Metric) {
					d.Sentence += " What is acknowledged can be lost when the power fails: UnsafeConfiguration."
				}
				if disks := on[place{c.Node, c.Target}][c.Control]; c.By == byTarget && len(disks) > 0 {
					d.Sentence += fmt.Sprintf(" Both targets are on the same storage, %s, so this is no comparison of disks: SameDevice.", listed(disks, "disks"))
				}
			}
			c.Primary = &d
		}
		out = append(out, c.Comparison)
	}
	return out
}

// perUnit is the number of repeats that one more unit of a comparison takes.
func perUnit(order string) int {
	if order == random || order == sequential {
		return 1
	}
	return 2
}

// invalidArms says which of a comparison's two numbers is invalid and why; nothing if both stand.
func invalidArms(rows []result.Row, c result.Comparison) string {
	if why := report.Incomparable(rows, c, c.Primary.Metric); why != "" {
		return fmt.Sprintf("%s cannot be compared: %s.", c.Primary.Metric, why)
	}
	return ""
}

// sentence says what was found, by how much, and what would decide.
func sentence(c compared, order string, family int) string {
	d, metric := c.primary, c.Primary.Metric
	change := c.Metrics[metric]
	arms := fmt.Sprintf("with %s than with %s", c.Variant, c.Control)
	if c.By == byTarget {
		arms = fmt.Sprintf("on %s than on %s", c.Target, c.Control)
	}
	unit, more, each := "block", "more repeat", perUnit(order)
	if order == sequential {
		unit = "trial"
	}
	if c.replicate != "" {
		unit, more, each, order = c.replicate, "more "+c.replicate, 1, ""
	}
	var text string
	switch {
	case change.Bounds > 0:
		return fmt.Sprintf("%s has no ratio: %d of %d pairs were too fast to be measured; measure more, or larger files.", metric, change.Bounds, change.Pairs)
	case change.Ratio == nil:
		return metric + " has no ratio, because a value is 0."
	case !d.OK:
		return fmt.Sprintf("%s is %s %s in %s, too few for an interval; about %s would give one.", metric, byHow(d.Ratio), arms, counted(d.Units, unit), counted(d.MoreUnits*each, more))
	default:
		text = fmt.Sprintf("%s is %s %s (95 %% interval %s to %s, %s)", metric, byHow(d.Ratio), arms, signed(d.Low), signed(d.High), counted(d.Units, unit))
	}
	limit := fmt.Sprintf("%.3g %%", 100*c.Primary.MinEffect)
	switch {
	case d.Corrected:
		text += fmt.Sprintf("; of %d comparisons one can be like this by chance, about %s would decide", family, counted(d.MoreUnits*each, more))
	case d.Outcome == NoDifference:
		text += fmt.Sprintf("; less than the %.3g %% that matter", 100*max(c.Primary.MinEffect, minMargin))
	case d.Outcome == Undecided && d.MoreUnits > 0:
		text += fmt.Sprintf("; about %s would decide with 80 %% probability", counted(d.MoreUnits*each, more))
	case d.Outcome == Undecided:
		text += fmt.Sprintf("; the difference is at the limit of %s, so %ss would hardly decide", limit, more)
	}
	if order == sequential {
		text += "; in sequential order a drift cannot be told from a difference"
	}
	return text + "."
}

// byTarget is the value of By in comparisons of targets.
const byTarget = "target"

func byHow(ratio float64) string {
	percent := 100 * (ratio - 1)
	switch text := fmt.Sprintf("%.3g %%", max(percent, -percent)); {
	case strings.HasPrefix(text, "0 "):
		return "no higher"
	case percent > 0:
		return text + " higher"
	default:
		return text + " lower"
	}
}

// signed returns a ratio as a change.
func signed(ratio float64) string {
	return strings.Replace(fmt.Sprintf("%+.3g %%", 100*(ratio-1)), "-", "−", 1)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// answers are the outcomes of comparisons from the one that must be told first.
var answers = []Outcome{Worse, Undecided, Better, NoDifference}

// Answer is the outcome of a run's comparisons as a whole: the worst of those decided; "" if there are none.
func Answer(all []result.Comparison) Outcome {
	for _, o := range answers {
		if slices.ContainsFunc(all, func(c result.Comparison) bool { return c.Primary != nil && c.Primary.Outcome == string(o) }) {
			return o
		}
	}
	return ""
}

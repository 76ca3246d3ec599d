//go:build truth

package truth

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/test/ledger"
)

// Variable names the file that the worlds are counted in, one a line: told, before it is measured, and then found, missed,
// honest or accused; and the kind.
const Variable = "STORAGEBENCH_TRUTH"

// kind is a kind of lie, and its honest twin.
type kind struct {
	name string
	// verdict that names the lie, and the operation that it is about.
	verdict, operation string
	// invalid: it must invalidate the number, not only qualify it.
	invalid bool
	// refusal is how the error begins with which the lie's world must be refused: the field, and why.
	refusal   string
	lie, twin func(t *testing.T) world
	// never are verdicts that the lie's world does not deserve: what is said must not be wrong.
	never []string
	// timed: what can be said of it depends on when something happens, so that a few rounds show little.
	timed bool
}

// rounds is how often the kind is told where others are told n times.
func (k kind) rounds(n int) int {
	if k.timed && n > 1 {
		return 4 * n
	}
	return n
}

func TestTruth(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("STORAGEBENCH_TRUTH_ROUNDS"))
	if err != nil {
		rounds = 1
	}
	// On a machine that others use as well, a twin has a neighbour now and then, and a verdict
	// that says so is right; and a lie may not come about. Where this is set, what is accused or missed is
	// measured twice more, and is so if that is what two of the three say. A twin is then counted and fails nothing.
	most := 0
	if os.Getenv("STORAGEBENCH_TRUTH_AGAIN") != "" {
		most = 1
	}
	part, parts := 1, 1
	if text := os.Getenv("STORAGEBENCH_TRUTH_PART"); text != "" {
		if _, err := fmt.Sscanf(text, "%d/%d", &part, &parts); err != nil {
			t.Fatalf("STORAGEBENCH_TRUTH_PART is %q, not like 1/3: %v", text, err)
		}
	}
	for i, k := range slices.Concat(asked, before, layered, beneath, changed, repeated, mixed, programs, linked, rarely) {
		if i%parts != part-1 {
			continue
		}
		t.Run(strings.NewReplacer(" ", "-", "/", "").Replace(k.name), func(t *testing.T) {
			for round := range k.rounds(rounds) {
				t.Run(fmt.Sprint("lie-", round), func(t *testing.T) {
					ledger.Note(t, Variable, "told", k.name)
					k.judgeLie(t, most)
				})
				t.Run(fmt.Sprint("twin-", round), func(t *testing.T) {
					ledger.Note(t, Variable, "told", k.name)
					k.judgeTwin(t, most)
				})
			}
		})
	}
}

// judgeLie counts the lie as found, or as missed if more than most of its measurements miss it.
func (k kind) judgeLie(t *testing.T, most int) {
	t.Helper()
	if k.refusal != "" {
		k.judgeRefusal(t)
		return
	}
	misses := 0
	for range 2*most + 1 {
		fault := k.miss(t)
		if fault == "" && misses == 0 {
			break
		}
		if fault == "" {
			continue
		}
		if misses++; misses > most {
			ledger.Note(t, Variable, "missed", k.name)
			t.Error(fault)
			return
		}
		t.Logf("missed, and measured again: %s", fault)
	}
	ledger.Note(t, Variable, "found", k.name)
}

// miss measures the lie, and returns what is missed of it or wrong; empty: it is found.
func (k kind) miss(t *testing.T) (fault string) {
	t.Helper()
	row, _ := k.lie(t).run(t)
	for _, v := range row.Verdicts {
		if slices.Contains(k.never, v.Name) {
			return fmt.Sprintf("%s is wrong; what was said: %s", v.Name, said(row))
		}
	}
	for _, v := range row.Verdicts {
		if v.Name == k.verdict && v.About(k.operation) && (!k.invalid || v.Effect == result.Invalidates) {
			t.Logf("%s: %s", v.Name, v.Sentence)
			return ""
		}
	}
	return fmt.Sprintf("%s of %s is missed; what was said: %s", k.verdict, k.operation, said(row))
}

// judgeRefusal counts the lie as found if the error names the field, the reason and a remedy.
func (k kind) judgeRefusal(t *testing.T) {
	t.Helper()
	_, err := k.lie(t).measure(t)
	if err == nil {
		ledger.Note(t, Variable, "missed", k.name)
		t.Error("a number was measured")
		return
	}
	i := strings.LastIndex(err.Error(), "error: "+k.refusal)
	if i < 0 || !strings.Contains(err.Error()[i:], "; set direct") {
		ledger.Note(t, Variable, "missed", k.name)
		t.Errorf("the error must be %q and a remedy; it is: %v", k.refusal, err)
		return
	}
	ledger.Note(t, Variable, "found", k.name)
	t.Log(strings.TrimSpace(err.Error()[i:]))
}

// judgeTwin counts the twin as honest, or as accused if more than most of its measurements are.
func (k kind) judgeTwin(t *testing.T, most int) {
	t.Helper()
	accusations := 0
	for range 2*most + 1 {
		row, accused := k.accuse(t)
		k.obeys(t, row)
		if accused == "" && accusations == 0 {
			break
		}
		if accused == "" {
			continue
		}
		if accusations++; accusations > most {
			ledger.Note(t, Variable, "accused", k.name+": "+accused)
			if most > 0 {
				t.Logf("an honest number is accused: %s", said(row))
				return
			}
			t.Errorf("an honest number is accused: %s", said(row))
			return
		}
		t.Logf("accused, and measured again: %s", said(row))
	}
	ledger.Note(t, Variable, "honest", k.name)
}

// obeys checks Little's law on a row without a verdict: in a closed loop, rate × latency is the depth, within 5 %. What differs
// from it waited where no latency was measured.
func (k kind) obeys(t *testing.T, row result.Row) {
	t.Helper()
	const law, tolerance = result.LittlesLaw, 0.05
	ratio, closed := row.Metrics[law]
	switch {
	case !closed || len(row.Verdicts) > 0:
	case math.Abs(ratio.Median-1) > tolerance:
		ledger.Note(t, Variable, "unlawful", fmt.Sprintf("%s: %.3f", k.name, ratio.Median))
		t.Logf("without a verdict, %s is %.3f: %s", law, ratio.Median, said(row))
	default:
		ledger.Note(t, Variable, "lawful", fmt.Sprintf("%s: %.3f", k.name, ratio.Median))
	}
}

// accuse measures the twin, and returns the first verdict that its world does not deserve, if any. A machine whose host
// gives its CPUs to others is not the world that was made: a twin of which only that is said, rightly, is noted as
// taken, and measured again.
func (k kind) accuse(t *testing.T) (row result.Row, accusation string) {
	t.Helper()
	for range 5 {
		w := k.twin(t)
		var taken float64
		row, taken = w.run(t)
		undeserved := slices.DeleteFunc(slices.Clone(row.Verdicts), func(v result.RowVerdict) bool { return slices.Contains(w.deserved, v.Name) })
		if len(undeserved) == 0 {
			return row, ""
		}
		accusation = undeserved[0].Name
		if slices.ContainsFunc(undeserved, func(v result.RowVerdict) bool { return !ofTheHost(v.Verdict, taken) }) {
			return row, accusation
		}
		ledger.Note(t, Variable, "taken", k.name)
		t.Logf("the host took %.0f %% of the CPUs' time, and the twin is measured again: %s", 100*taken, said(row))
	}
	return row, accusation
}

// said writes a row's verdicts, and its numbers.
func said(row result.Row) string {
	var text strings.Builder
	for _, v := range row.Verdicts {
		fmt.Fprintf(&text, "\n%s %s %s: %s %v", v.Name, v.Effect, v.Operation, v.Sentence, v.Evidence)
	}
	for name, m := range row.Metrics {
		if !strings.Contains(name, ".latency.") {
			fmt.Fprintf(&text, "\n  %s %g", name, m.Median)
		}
	}
	return text.String()
}

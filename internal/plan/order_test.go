package plan

import (
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func TestVariantsAlternateWithinARepeatAndTurnRoundInTheNext(t *testing.T) {
	p := &trial.Plan{
		Workloads: []trial.Workload{{Name: "oltp"}, {Name: "log"}},
		Variants:  []trial.Variant{{Name: "flush"}, {Name: "no-flush"}, {Name: "cached"}},
	}
	const repeats = 12
	trials := order(p, repeats)
	if len(trials) != 2*3*repeats || trials[0].Workload != "oltp" || trials[3].Workload != "log" {
		t.Fatalf("%d trials: %v", len(trials), trials[:4])
	}
	ids := map[string]bool{}
	sequence := func(repeat int, workload string) (names []string) {
		for _, tr := range trials {
			if tr.Repeat == repeat && tr.Workload == workload {
				names = append(names, tr.Variant)
				ids[tr.ID] = true
			}
		}
		return names
	}
	firsts := map[string]bool{}
	for repeat := 1; repeat < repeats; repeat += 2 {
		for _, workload := range []string{"oltp", "log"} {
			one, two := sequence(repeat, workload), sequence(repeat+1, workload)
			slices.Reverse(two)
			if len(one) != 3 || !slices.Equal(one, two) {
				t.Errorf("repeats %d and %d of %s: %v and, turned round, %v", repeat, repeat+1, workload, one, two)
			}
			firsts[one[0]] = true
		}
	}
	if len(ids) != len(trials) || !ids["log.no-flush.r012"] {
		t.Errorf("%d IDs of %d trials", len(ids), len(trials))
	}
	if len(firsts) != 3 {
		t.Errorf("only %v ever come first", firsts)
	}
	if again := order(p, repeats); !slices.Equal(again, trials) {
		t.Error("the same plan has another order")
	}
	p.Variants = nil
	if plain := order(p, 1); len(plain) != 2 || plain[1].ID != "log.r001" || plain[1].Variant != "" {
		t.Errorf("without variants: %v", plain)
	}
}

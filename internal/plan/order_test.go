package plan

import (
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func compared(order string, seed uint64) *trial.Plan {
	return &trial.Plan{
		Workloads: []trial.Workload{{Name: "oltp"}, {Name: "log"}},
		Variants:  []trial.Variant{{Name: "flush"}, {Name: "no-flush"}, {Name: "cached"}},
		Order:     order, Seed: seed,
	}
}

// sequence returns the variants of a workload's repeat, in their order.
func sequence(trials []trial.Trial, repeat int, workload string) (names []string) {
	for _, tr := range trials {
		if tr.Repeat == repeat && tr.Workload == workload {
			names = append(names, tr.Variant)
		}
	}
	return names
}

func TestVariantsAlternateWithinARepeatAndTurnRoundInTheNext(t *testing.T) {
	p := compared("Interleaved", 7)
	const repeats = 12
	trials := order(p, repeats)
	if len(trials) != 2*3*repeats || trials[0].Workload != "oltp" || trials[3].Workload != "log" {
		t.Fatalf("%d trials: %v", len(trials), trials[:4])
	}
	ids := map[string]bool{}
	for _, tr := range trials {
		ids[tr.ID] = true
		if want := (tr.Repeat + 1) / 2; tr.Block != want {
			t.Errorf("%s is in block %d, want %d", tr.ID, tr.Block, want)
		}
	}
	firsts := map[string]bool{}
	for repeat := 1; repeat < repeats; repeat += 2 {
		for _, workload := range []string{"oltp", "log"} {
			one, two := sequence(trials, repeat, workload), sequence(trials, repeat+1, workload)
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
	if plain := order(p, 1); len(plain) != 2 || plain[1].ID != "log.r001" || plain[1].Variant != "" || plain[1].Block != 0 {
		t.Errorf("without variants: %v", plain)
	}
}

// Every order of the arms is equally likely, whatever the place: a permutation test counts on it.
func TestTheOrderOfABlockIsUniform(t *testing.T) {
	const runs = 6000
	counts := map[[3]string]int{}
	for seed := range uint64(runs) {
		s := sequence(order(compared("Interleaved", seed), 1), 1, "log")
		counts[[3]string(s)]++
	}
	for s, n := range counts {
		if n < 880 || n > 1120 { // 1,000 ± 4 standard deviations
			t.Errorf("%v came %d times of %d", s, n, runs)
		}
	}
	if len(counts) != 6 {
		t.Errorf("only %d of 6 orders ever came", len(counts))
	}
}

func TestARandomOrderIsDrawnForEachRepeat(t *testing.T) {
	trials := order(compared("Random", 3), 40)
	reversed := 0
	for repeat := 1; repeat < 40; repeat += 2 {
		one, two := sequence(trials, repeat, "oltp"), sequence(trials, repeat+1, "oltp")
		slices.Reverse(two)
		if slices.Equal(one, two) {
			reversed++
		}
	}
	if reversed == 20 {
		t.Error("each second repeat turns the one before it round")
	}
	for _, tr := range trials {
		if tr.Block != tr.Repeat {
			t.Errorf("%s is in block %d", tr.ID, tr.Block)
		}
	}
}

func TestASequentialOrderHasOneVariantAfterTheOther(t *testing.T) {
	var got []string
	for _, tr := range order(compared("Sequential", 3), 2) {
		got = append(got, tr.ID)
		if tr.Block != 0 {
			t.Errorf("%s is in block %d, but nothing about its order is random", tr.ID, tr.Block)
		}
	}
	want := []string{
		"oltp.flush.r001", "oltp.flush.r002", "oltp.no-flush.r001", "oltp.no-flush.r002", "oltp.cached.r001", "oltp.cached.r002",
		"log.flush.r001", "log.flush.r002", "log.no-flush.r001", "log.no-flush.r002", "log.cached.r001", "log.cached.r002",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestTheSeedIsTheRunsOwn(t *testing.T) {
	seeds := map[uint64]bool{}
	for _, run := range []string{"g3-a", "g3-b", "g4-a"} {
		p := &trial.Plan{Benchmark: trial.Benchmark{Namespace: "lab", Name: "b", UID: "u"}, Run: run}
		seed := seedOf(p)
		if again := seedOf(p); again != seed || seed >= 1<<53 {
			t.Errorf("run %s has the seeds %d and %d", run, seed, again)
		}
		seeds[seed] = true
	}
	other := &trial.Plan{Benchmark: trial.Benchmark{Namespace: "lab", Name: "b", UID: "v"}, Run: "g3-a"}
	seeds[seedOf(other)] = true
	if len(seeds) != 4 {
		t.Errorf("different runs share seeds: %v", seeds)
	}
}

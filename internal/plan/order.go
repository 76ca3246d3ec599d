package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"storagebench.io/storagebench/internal/trial"
)

// orderSeed is the seed of the order of variants. It is a constant, so that the
// same plan has the same order everywhere.
const orderSeed = 42

// order returns the trials: every workload once, then every workload again. Within a
// repeat the variants of a workload follow each other, so that what is compared is
// seconds apart. Their order is random and reversed in the next repeat (ABBA or BAAB
// with two), so that a drift of the machine, or what one variant leaves behind, does
// not affect one variant alone.
func order(p *trial.Plan, repeats int) []trial.Trial {
	variants := []string{""}
	if len(p.Variants) > 0 {
		variants = nil
		for _, v := range p.Variants {
			variants = append(variants, v.Name)
		}
	}
	random := rand.New(rand.NewPCG(orderSeed, uint64(len(variants))))
	sequence := map[string][]string{}
	var trials []trial.Trial
	for repeat := 1; repeat <= repeats; repeat++ {
		for _, w := range p.Workloads {
			if repeat%2 == 1 {
				s := slices.Clone(variants)
				random.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
				sequence[w.Name] = s
			} else {
				slices.Reverse(sequence[w.Name])
			}
			for _, variant := range sequence[w.Name] {
				t := trial.Trial{Workload: w.Name, Variant: variant, Repeat: repeat}
				t.ID = trialID(t)
				trials = append(trials, t)
			}
		}
	}
	return trials
}

// trialID returns <workload>.r<repeat>, or <workload>.<variant>.r<repeat>. Names contain
// no dot.
func trialID(t trial.Trial) string {
	if t.Variant == "" {
		return fmt.Sprintf("%s.r%03d", t.Workload, t.Repeat)
	}
	return fmt.Sprintf("%s.%s.r%03d", t.Workload, t.Variant, t.Repeat)
}

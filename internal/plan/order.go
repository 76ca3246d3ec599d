package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// seedOf returns the seed of a run's order, from the benchmark and the run's ID. Another run of
// the same benchmark has another order, which is what makes the order random and a permutation
// test on it exact; the same run always has the same. It has 53 bits, so that every reader of
// JSON reads the same number.
func seedOf(p *trial.Plan) uint64 {
	h := sha256.New()
	for _, part := range []string{p.Benchmark.Namespace, p.Benchmark.Name, p.Benchmark.UID, p.Run} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return binary.BigEndian.Uint64(h.Sum(nil)) >> 11
}

// arms returns the variants that a workload is measured with: one without a name if there are
// none.
func arms(p *trial.Plan) []string {
	if len(p.Variants) == 0 {
		return []string{""}
	}
	names := make([]string, len(p.Variants))
	for i, v := range p.Variants {
		names[i] = v.Name
	}
	return names
}

// order returns the trials of a worker in the order of the plan.
func order(p *trial.Plan, repeats int) []trial.Trial {
	if p.Order == string(v1alpha1.OrderSequential) {
		return sequential(p, repeats)
	}
	return alternating(p, repeats)
}

// alternating returns every workload once, then every workload again. Within a repeat the
// variants of a workload follow each other, so that what is compared is seconds apart. Their
// order is random. Interleaved, the next repeat has the reverse, and both together are one
// block (ABBA or BAAB with two variants): what drifts evenly, or what one trial leaves behind,
// then affects all of them alike. With Random, each repeat has an order of its own and is a
// block.
func alternating(p *trial.Plan, repeats int) []trial.Trial {
	variants := arms(p)
	random := rand.New(rand.NewPCG(p.Seed, uint64(len(variants))))
	perBlock := 2
	if p.Order == string(v1alpha1.OrderRandom) {
		perBlock = 1
	}
	sequence := map[string][]string{}
	var trials []trial.Trial
	for repeat := 1; repeat <= mostRepeats(p, repeats); repeat++ {
		for _, w := range shufflePoints(p, repeat) {
			if repeat > repeatsOf(w, repeats) {
				continue
			}
			if perBlock == 1 || repeat%2 == 1 {
				s := slices.Clone(variants)
				random.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
				sequence[w.Name] = s
			} else {
				slices.Reverse(sequence[w.Name])
			}
			for _, variant := range sequence[w.Name] {
				t := trial.Trial{Workload: w.Name, Variant: variant, Repeat: repeat}
				if len(variants) > 1 {
					t.Block = (repeat-1)/perBlock + 1
				}
				t.ID = trialID(t)
				trials = append(trials, t)
			}
		}
	}
	return trials
}

// shufflePoints returns the workloads of a repeat: in the plan's order, but points of a sweep in a
// random one among themselves, as those that are next to each other would otherwise always follow
// each other.
func shufflePoints(p *trial.Plan, repeat int) []trial.Workload {
	if len(p.Sweeps) == 0 {
		return p.Workloads
	}
	out := slices.Clone(p.Workloads)
	random := rand.New(rand.NewPCG(p.Seed, 1<<33+uint64(repeat)))
	for begin := 0; begin < len(out); {
		end := begin + 1
		for out[begin].Of != "" && end < len(out) && out[end].Of == out[begin].Of {
			end++
		}
		run := out[begin:end]
		random.Shuffle(len(run), func(i, j int) { run[i], run[j] = run[j], run[i] })
		begin = end
	}
	return out
}

// sequential returns all repeats of a workload with one variant, then all with the next. They
// are in no block: a drift of the machine cannot be told from a difference between variants.
func sequential(p *trial.Plan, repeats int) []trial.Trial {
	var trials []trial.Trial
	for _, w := range p.Workloads {
		for _, variant := range arms(p) {
			for repeat := 1; repeat <= repeatsOf(w, repeats); repeat++ {
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

package main

import (
	"cmp"
	"fmt"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// ownVariants returns the variants of a benchmark that runs without a cluster. There
// are no policies; the kernel decides who may write the settings. Variants that can
// lose data must be accepted here as well.
func ownVariants(b *v1alpha1.StorageBenchmark) ([]trial.Variant, error) {
	var variants []trial.Variant
	for _, v := range plan.Variants(b.Spec) {
		variant := trial.Variant{Name: v.Name, AcceptDataLoss: v.AcceptDataLoss}
		for i, t := range v.Tunables {
			value := t.Value.String()
			if err := (tunable.Rules{}).Check(t.Name, value); err != nil {
				f := trial.AsFailure(err)
				f.Field = fmt.Sprintf("spec.variants[%s].tunables[%d].%s", v.Name, i, cmp.Or(f.Field, "name"))
				return nil, f
			}
			if loss := (tunable.Rules{}).DataLoss(t.Name, value); loss != "" && !v.AcceptDataLoss {
				return nil, trial.LosesData(v.Name, t.Name, value, loss)
			}
			variant.Tunables = append(variant.Tunables, trial.Tunable{
				Name: t.Name, Value: value, Devices: []string{trial.Everything}, Datasets: []string{trial.Everything},
			})
		}
		variants = append(variants, variant)
	}
	return variants, nil
}

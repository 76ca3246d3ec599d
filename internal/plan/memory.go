package plan

import (
	"cmp"
	"fmt"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// extraMemory is how much more than usual the tools of the workload that needs most may allocate.
// It refuses what is above the operator's limit.
func (in Input) extraMemory(p *trial.Plan) (uint64, error) {
	limit := cmp.Or(in.WorkloadMemory, DefaultWorkloadMemory)
	var extra uint64
	for _, w := range p.Workloads {
		for _, mode := range modesOf(p.Targets) {
			need, field := in.Engines.Memory(w.Engine, w.Config, mode)
			if need > limit {
				return 0, &trial.Failure{
					Class: reason.LimitExceeded, Field: "spec.workloads[" + cmp.Or(w.Of, w.Name) + "]." + field, Workload: w.Name,
					Message: fmt.Sprintf("its tools may allocate %s of memory, more than the limit of %s", mebibytes(need), mebibytes(limit)),
					Remedy:  "lower the number of clones, the queue depth or the block size, or ask your cluster administrator to raise the chart's value limits.workloadMemory",
				}
			}
			if usual := in.Engines.UsualMemory(); need > usual {
				extra = max(extra, need-usual)
			}
		}
	}
	return extra, nil
}

// mebibytes writes an amount of memory, rounded up.
func mebibytes(n uint64) string {
	const mebi = 1 << 20
	return fmt.Sprintf("%dMi", n/mebi+min(1, n%mebi))
}

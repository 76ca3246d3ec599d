package verdict

import (
	"fmt"

	"storagebench.io/storagebench/internal/result"
)

// littleTolerance is how far from the depth of a closed loop rate × latency may be.
const littleTolerance = 0.05

// offTheDepth: in a closed loop, rate × latency is not the depth (Little's law). Less of it means that I/Os waited where no
// latency was measured, as in fio itself: the rate is then fio's. More of it cannot be.
func offTheDepth(f *Facts) []result.Verdict {
	trial := f
	if f.row != nil {
		trial = f.row.whole
	}
	ratio := f.value(result.LittlesLaw)
	if ratio == 0 || len(cpuThrottled(trial)) > 0 {
		return nil
	}
	e := result.Qualifies
	if max(ratio, 1/ratio) >= 2 {
		e = result.Invalidates
	}
	v := result.Verdict{Effect: e, Evidence: evidence(number{result.LittlesLaw, result.Ratio, ratio})}
	switch {
	case ratio < 1-littleTolerance:
		v.Name, v.Settle = CPUBound, "Use larger blocks, data that is made once (without refill_buffers), or faster CPUs; or read the latency, which is the storage's."
		v.Sentence = fmt.Sprintf("On average, only %s of the I/Os that the job asks for were in flight: fio worked between them, or waited for a CPU, and the storage could do more.", percent(ratio))
		for _, name := range []string{"cpu.user", "cpu.system"} {
			if m, ok := f.Measurement.Metrics[name]; ok {
				v.Evidence[name] = m
			}
		}
	case ratio > 1+littleTolerance:
		v.Name, v.Settle = ToolErrors, "Look at the tool's output and at the machine's clock, and measure again."
		v.Sentence = fmt.Sprintf("Rate × latency is %.2f times what the job can have in flight: the tool's latencies are wrong, or its time is.", ratio)
	default:
		return nil
	}
	return []result.Verdict{v}
}

package verdict

import (
	"fmt"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// memoryBacked: the target is made of memory.
func memoryBacked(f *Facts) []result.Verdict {
	layer, ok := result.InMemory(f.Target.Layers)
	if !ok {
		return partlyInMemory(f)
	}
	return []result.Verdict{{
		Name: MemoryBacked, Effect: result.Invalidates,
		Sentence: fmt.Sprintf("The target is kept in this machine's memory: %s (%s).", strings.TrimPrefix(layer.ID, "fs:"), layer.Type),
		Settle:   "Measure a volume that is on a disk.",
	}}
}

// partlyInMemory: a part of what the workload waits for is memory.
func partlyInMemory(f *Facts) []result.Verdict {
	var out []result.Verdict
	for _, p := range result.PartsInMemory(f.Target.Layers) {
		v := result.Verdict{Name: MemoryBacked, Effect: result.Invalidates}
		what := fmt.Sprintf("%s (%s)", strings.TrimPrefix(p.Layer.ID, "fs:"), p.Layer.Type)
		switch p.Of {
		case result.LogPart:
			v.Sentence = fmt.Sprintf("The log of the target is kept in this machine's memory, %s: what is acknowledged is there, and is lost with the power.", what)
			v.Settle = "Measure a volume whose log is on a disk."
			for _, op := range f.operations() {
				if v.Operation = op; !isRead(op) && !strings.HasPrefix(op, "stat") {
					out = append(out, v)
				}
			}
			continue
		case result.CopyPart:
			v.Sentence = fmt.Sprintf("A copy of the target's data is kept in this machine's memory, %s, and can answer reads.", what)
			v.Settle = "Measure a volume that has all of its copies on disks."
			out = append(out, f.reading().each(v)...)
			continue
		}
		v.Sentence = fmt.Sprintf("A part of the target is kept in this machine's memory: %s.", what)
		v.Settle = "Measure a volume that is on disks only."
		out = append(out, v)
	}
	return out
}

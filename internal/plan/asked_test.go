package plan

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// counting counts what engines are asked.
type counting struct {
	checker
	asked *int
}

func (c counting) Check(engine string, config json.RawMessage, mode trial.Mode) error {
	*c.asked++
	return c.checker.Check(engine, config, mode)
}

func (c counting) Memory(engine string, config json.RawMessage, mode trial.Mode) (uint64, string) {
	*c.asked++
	return c.checker.Memory(engine, config, mode)
}

func (c counting) Duration(engine string, config json.RawMessage) time.Duration {
	*c.asked++
	return c.checker.Duration(engine, config)
}

// What an engine says of a configuration may be much work: it does not depend on how many targets and trials there are.
func TestEnginesAreAskedAsOftenHoweverManyTargetsAndTrials(t *testing.T) {
	asked := func(more, trials int) (n int) {
		b := benchmark(func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Trials.Min = int32(trials)
			for i := range more {
				b.Spec.Targets = append(b.Spec.Targets, v1alpha1.Target{Name: fmt.Sprint("t", i), StorageClass: &v1alpha1.StorageClassTarget{Name: "nvme"}})
			}
		})
		engines := counting{asked: &n}
		p, err := Build(Input{Benchmark: b, Run: "g3-x", Nodes: []string{"a"}, Engines: engines})
		if err != nil {
			t.Fatal(err)
		}
		Duration(p, engines)
		return n
	}
	if few, many := asked(0, 2), asked(10, 20); many > few {
		t.Errorf("they are asked %d times for few, and %d times for many", few, many)
	}
}

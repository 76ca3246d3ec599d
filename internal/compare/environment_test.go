package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestWhatDiffersIsNamed(t *testing.T) {
	environment := func(kernel, scheduler string) *result.Environment {
		return &result.Environment{
			Hostname: "a", Kernel: kernel, Tools: map[string]string{"fio": "3.33"},
			Target: result.TargetEnvironment{FreeBytes: uint64(len(kernel)), Devices: []result.Device{{Name: kernel, Model: "PM9A3", Queue: map[string]string{"scheduler": scheduler}}}},
		}
	}
	run := func(worker, kernel, scheduler, workload string) result.Summary {
		s := summary(row("a", "w", "n", iops(990, 1000, 1010)))
		s.Environment = map[string]*result.Environment{worker: environment(kernel, scheduler)}
		s.Configuration = map[string]string{"workload w": workload}
		return s
	}
	first := run("old.a", "6.1.0", "none", "sha256:1")
	c, err := Summaries(first, run("new.a", "6.12.0", "mq-deadline", "sha256:1"), 0.05)
	if err != nil || c.Verdict != NoWorse {
		t.Errorf("%v, %+v", err, c)
	}
	if diff := cmp.Diff([]string{"kernel: 6.1.0 -> 6.12.0", "queue's scheduler: none -> mq-deadline"}, c.Differences); diff != "" {
		t.Error(diff)
	}
	var text strings.Builder
	if err := c.Table(&text); err != nil || !strings.Contains(text.String(), "differs: kernel: 6.1.0 -> 6.12.0\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	c, err = Summaries(first, run("new.a", "6.1.0", "none", "sha256:2"), 0.05)
	if err != nil || c.Verdict != Inconclusive || !strings.Contains(c.Sentence(), "workload w is configured differently") {
		t.Errorf("another workload: %v, %+v", err, c)
	}
	if same, _ := Summaries(first, first, 0.05); len(same.Differences) > 0 || same.Sentence() != "1 metric within 5 %" {
		t.Errorf("the same: %+v, %s", same, same.Sentence())
	}
	many := run("x", "1", "none", "")
	for i := range 40 {
		many.Environment["x"].Tools[fmt.Sprint("tool", i)] = "1"
		first.Environment["old.a"].Tools[fmt.Sprint("tool", i)] = "2"
	}
	if d := Differences(first, many); len(d) != maxDifferences || !strings.HasPrefix(d[maxDifferences-1], "and ") {
		t.Errorf("%d differences: %v", len(d), d)
	}
}

// Two halves of a right angle: 3 % and 4 % are 5 %.
func TestTheIntervalOfARatioIsRecoveredFromTwo(t *testing.T) {
	first := est(result.PerSecond, 6, 1000*math.Exp(-0.04), 1000, 1000*math.Exp(0.03))
	second := est(result.PerSecond, 6, 1100*math.Exp(-0.04), 1100, 1100*math.Exp(0.03))
	low, high, reason := interval(first, second)
	if math.Abs(low-1.1*math.Exp(-0.05)) > 1e-12 || math.Abs(high-1.1*math.Exp(0.05)) > 1e-12 || reason != "" {
		t.Errorf("%v to %v, %q", low, high, reason)
	}
}

func TestASentenceNamesWhatRegressed(t *testing.T) {
	c, err := Summaries(summary(row("a", "w", "n", iops(990, 1000, 1010))), summary(row("a", "w", "n", iops(790, 800, 810))), 0.05)
	if err != nil || !strings.Contains(c.Sentence(), "read.iops of a/w/n is 0.800 times the baseline's (0.7") {
		t.Errorf("%v, %s", err, c.Sentence())
	}
	c, _ = Summaries(summary(row("a", "w", "n", iops(990, 1000, 1010)), row("a", "v", "n", iops(1, 2, 3))), summary(row("a", "w", "n", iops(990, 1000, 1010))), 0.05)
	if c.Sentence() != "the baseline has 1 row that this run has not" {
		t.Errorf("%s", c.Sentence())
	}
}

func TestWhatDiffersOfAClassIsNamed(t *testing.T) {
	run := func(class *trial.ClassIdentity) result.Summary {
		s := summary(row("a", "w", "n", iops(990, 1000, 1010)))
		s.Environment = map[string]*result.Environment{"a.n": {Target: result.TargetEnvironment{Class: class}}}
		return s
	}
	class := func(change func(*trial.ClassIdentity)) *trial.ClassIdentity {
		c := trial.ClassIdentity{Provisioner: "p", BindingMode: "Immediate", Reclaim: "Delete", Parameters: map[string]string{"pool": "fast", "old": "1"}}
		change(&c)
		return trial.NewClassIdentity(c)
	}
	same := func(*trial.ClassIdentity) {}
	for name, c := range map[string]struct {
		second *trial.ClassIdentity
		want   []string
	}{
		"nothing":             {class(same), nil},
		"an older release":    {nil, nil},
		"a parameter":         {class(func(c *trial.ClassIdentity) { c.Parameters["pool"] = "slow" }), []string{"class's parameter pool: fast -> slow"}},
		"one more, one less":  {class(func(c *trial.ClassIdentity) { c.Parameters = map[string]string{"pool": "fast", "new": "2"} }), []string{"class's parameter new: none -> 2", "class's parameter old: 1 -> none"}},
		"all that is no name": {class(func(c *trial.ClassIdentity) { c.MountOptions, c.Reclaim = []string{"noatime"}, "Retain" }), []string{"class's mount options: none -> noatime", "class's reclaim policy: Delete -> Retain"}},
		"a secret":            {class(func(c *trial.ClassIdentity) { c.Parameters["csi.storage.k8s.io/node-stage-secret-name"] = "s" }), nil},
	} {
		if diff := cmp.Diff(c.want, Differences(run(class(same)), run(c.second))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFacts(t *testing.T) {
	of := func(kernel string) *result.Environment {
		return &result.Environment{Kernel: kernel, Architecture: "amd64"}
	}
	s := result.Summary{
		Configuration: map[string]string{"settings of slow": "block.queue.max_sectors_kb=4", "workload w": ""},
		Environment:   map[string]*result.Environment{"t.a": of("6.1"), "t.b": of("6.12"), "t.c": nil},
	}
	got := Facts(s)
	for name, want := range map[string]string{
		"settings of slow": "block.queue.max_sectors_kb=4", "architecture": "amd64", "kernel on t.a": "6.1", "kernel on t.b": "6.12",
		"kernel": "", "workload w": "", "architecture on t.a": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

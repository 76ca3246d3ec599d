//go:build answers

package answers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/qualify"
	"storagebench.io/storagebench/internal/result"
)

// minute is how long qualify may take to its verdict.
const minute = 60 * time.Second

func TestQualifyAnswersInAMinute(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithTimeout(l.ctx, 10*time.Minute)
	defer cancel()
	began := time.Now()
	out, err := exec.CommandContext(ctx, "../../bin/storagebench", "qualify", "--storage-class", "loop-ext4", "--for", "etcd",
		"--size", "1Gi", "--node", l.node, "-n", l.namespace, "-o", "json").Output()
	took := time.Since(began)
	if ended, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || ended.ExitCode() != 3 && ended.ExitCode() != 4) {
		t.Fatalf("%v %s", err, stderrOf(err))
	}
	var answer qualify.Answer
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	note(t, "qualify", fmt.Sprintf("%.0f %s: %s", took.Seconds(), answer.Answer, answer.Sentence))
	if answer.Trials < qualify.Trials {
		t.Errorf("an answer of %d trials", answer.Trials)
	}
	if took > minute {
		t.Errorf("it took %s, want less than %s", took.Round(time.Second), minute)
	}
}

func stderrOf(err error) string {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(ended.Stderr)
	}
	return ""
}

// compared notes the answer of a comparison, and reports whether it is a difference.
func compared(t *testing.T, kind string, b *v1alpha1.StorageBenchmark, want string) {
	t.Helper()
	answer := b.Status.Answer
	differs := answer.Answer == result.AnswerBetter || answer.Answer == result.AnswerWorse
	outcome := "same"
	if differs {
		outcome = "different"
	}
	if want != "" && answer.Answer != want {
		outcome = "missed"
		t.Errorf("%s is %s, want %s: %s", b.Name, answer.Answer, want, answer.Sentence)
	}
	note(t, kind+"-"+outcome, answer.Answer+": "+answer.Sentence)
	t.Logf("%s: %s: %s", b.Name, answer.Answer, answer.Sentence)
}

func TestEqualVariantsDoNotDiffer(t *testing.T) {
	l := newLab(t)
	for i := range times(t) {
		b := l.run(fmt.Sprintf("equal-variants-%d", i), v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{volume("v", "loop-ext4")},
			Workloads: []v1alpha1.Workload{reads(2, nil)},
			Variants:  []v1alpha1.Variant{{Name: "a"}, {Name: "b"}},
		})
		compared(t, "aa-variants", b, "")
	}
}

// Without read-ahead, a sequential reader waits for each of its small blocks.
func TestATunableThatMattersIsFound(t *testing.T) {
	l := newLab(t)
	readAhead := func(name, kibibytes string) v1alpha1.Variant {
		return v1alpha1.Variant{Name: name, Tunables: []v1alpha1.Tunable{{Name: "block.queue.read_ahead_kb", Value: v1alpha1.Text(kibibytes)}}}
	}
	for i := range times(t) {
		b := l.run(fmt.Sprintf("tunable-%d", i), v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{volume("v", "loop-ext4")},
			Workloads: []v1alpha1.Workload{reads(2, map[string]string{"rw": "read", "direct": "0", "ioengine": "psync", "iodepth": "1", "invalidate": "1"})},
			Variants:  []v1alpha1.Variant{readAhead("with", "512"), readAhead("without", "0")},
		})
		compared(t, "ab-tunable", b, result.AnswerWorse)
	}
}

// classes compares two classes, round by round.
func (l *lab) classes(name, control, other string) *v1alpha1.StorageBenchmark {
	return l.run(name, v1alpha1.StorageBenchmarkSpec{
		Targets:   []v1alpha1.Target{volume("control", control), volume("other", other)},
		Workloads: []v1alpha1.Workload{reads(2, nil)},
		Compare:   &v1alpha1.Compare{By: v1alpha1.CompareByTarget},
		Trials:    v1alpha1.Trials{Min: 2, Volumes: 6},
	})
}

// Both classes have one limit, so that what is compared is as steady as in the test that has two. The two
// tests run side by side, each on a node of its own: their limits are far below what the disk can do.
const limitIOPS = 1000

func TestEqualClassesDoNotDiffer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.class("a"), l.class("b")
	l.throttle(map[string]int{a: limitIOPS, b: limitIOPS})
	for i := range times(t) {
		compared(t, "aa-classes", l.classes(fmt.Sprintf("equal-classes-%d", i), a, b), "")
	}
}

func TestAClassThatIsSlowerByAFifthIsFound(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	full, slow := l.class("full"), l.class("slow")
	l.throttle(map[string]int{full: limitIOPS, slow: limitIOPS * 4 / 5})
	for i := range times(t) {
		compared(t, "ab-classes", l.classes(fmt.Sprintf("throttled-%d", i), full, slow), result.AnswerWorse)
	}
}

// The rule for stopping and the fixed plan measure the same claim, one after the other.
func TestFivePercentTakesLessThanHalfOfAFixedPlan(t *testing.T) {
	l := newLab(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("loop-ext4"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("512Mi")}},
		},
	}
	l.must(api.Create(l.ctx, claim))
	measure := func(name string, seconds int, trials v1alpha1.Trials) (took time.Duration, rate, half float64) {
		b := l.run(name, v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{{Name: "v", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim.Name, FSGroup: new(int64(65532))}}},
			Workloads: []v1alpha1.Workload{reads(seconds, nil)}, Trials: trials,
		})
		for _, row := range b.Status.Summary {
			for _, operation := range row.Operations {
				if m := operation.IOPS; operation.Operation == "read" && m != nil && m.Low != nil && m.High != nil {
					rate = m.Median.AsApproximateFloat64()
					half = (m.High.AsApproximateFloat64() - m.Low.AsApproximateFloat64()) / 2 / rate
				}
			}
		}
		if rate == 0 {
			t.Fatalf("%s has no interval of read.iops: %+v", name, b.Status.Summary)
		}
		return b.Status.Run.FinishedAt.Sub(b.Status.Run.StartedAt.Time), rate, half
	}
	// On a noisy disk the 30 trials of the default do not make the interval that narrow.
	short, rate, half := measure("until-narrow", 5, v1alpha1.Trials{HalfWidth: "5%", Max: 90})
	long, fixed, _ := measure("fixed", 60, v1alpha1.Trials{Min: 20})
	note(t, "narrow", fmt.Sprintf("%.0f %% of %s, ±%.1f %%, %.1f %% from the fixed plan's", 100*short.Seconds()/long.Seconds(), long.Round(time.Second), 100*half, 100*math.Abs(rate/fixed-1)))
	if short > long/2 {
		t.Errorf("it took %s, the fixed plan %s", short, long)
	}
	if half > 0.05 {
		t.Errorf("the interval is ±%.1f %%", 100*half)
	}
}

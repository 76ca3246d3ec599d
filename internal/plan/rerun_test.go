package plan

import (
	"regexp"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/v1alpha1"
)

func annotated(value, handled string) *v1alpha1.StorageBenchmark {
	return benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Annotations = map[string]string{v1alpha1.AnnotationRerun: value}
		b.Status.Run = &v1alpha1.RunStatus{ID: "g3-00000000", Rerun: handled}
	})
}

func TestWhatTheAnnotationAsksFor(t *testing.T) {
	for name, c := range map[string]struct {
		b    *v1alpha1.StorageBenchmark
		want bool
	}{
		"a first value":                    {annotated("1", ""), true},
		"another value":                    {annotated("2", "1"), true},
		"the value of the run":             {annotated("1", "1"), false},
		"no value":                         {annotated("", "1"), false},
		"a benchmark that has not run yet": {benchmark(func(b *v1alpha1.StorageBenchmark) { b.Annotations = map[string]string{v1alpha1.AnnotationRerun: "1"} }), false},
		"no annotation":                    {benchmark(func(b *v1alpha1.StorageBenchmark) { b.Status.Run = &v1alpha1.RunStatus{Rerun: "1"} }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RerunAsked(c.b); got != c.want {
				t.Errorf("asks for a run: %v, want %v", got, c.want)
			}
		})
	}
}

// Whoever may change a benchmark writes the value: it goes into no key as it is, and the status bounds it.
func TestAnyValueOfTheAnnotationIsHarmless(t *testing.T) {
	recorded := regexp.MustCompile(`^[[:graph:]]{1,64}$`)
	run := regexp.MustCompile(`^g3-[0-9a-f]{8}$`)
	for _, value := range []string{"1", "../../other", "a b", "\x00", "\xff\xfe", "ümlaut", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 200_000)} {
		b := annotated(value, "")
		if got := Rerun(b); !recorded.MatchString(got) {
			t.Errorf("of %.20q the status has %q", value, got)
		}
		if id := RunID(b); !run.MatchString(id) {
			t.Errorf("of %.20q the run is named %q", value, id)
		}
		b.Status.Run.Rerun = Rerun(b)
		if RerunAsked(b) {
			t.Errorf("%.20q starts a run again and again", value)
		}
	}
}

func TestAValueThatComesBackIsAnotherRun(t *testing.T) {
	first := annotated("1", "")
	id := RunID(first)
	second := annotated("2", "1")
	second.Status.Run.ID = id
	third := annotated("1", "2")
	third.Status.Run.ID = RunID(second)
	ids := map[string]bool{first.Status.Run.ID: true, id: true, RunID(second): true, RunID(third): true}
	if len(ids) != 4 {
		t.Errorf("runs share IDs, and with them stored trials: %v", ids)
	}
	if again := annotated("1", ""); RunID(again) != id {
		t.Error("an operator that is restarted before it records the run names it differently")
	}
}

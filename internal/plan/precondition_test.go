package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// warmed is a benchmark whose first workload has a precondition.
func warmed(maxRounds int32, change func(*v1alpha1.Workload)) *v1alpha1.StorageBenchmark {
	return benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Workloads[0].Precondition = &v1alpha1.Precondition{MaxRounds: maxRounds}
		change(&b.Spec.Workloads[0])
	})
}

func asItIs(*v1alpha1.Workload) {}

func TestAPreconditionIsCarriedInThePlan(t *testing.T) {
	for maxRounds, want := range map[int32]trial.Precondition{
		0: {MaxRounds: 25, Judged: true}, 1: {MaxRounds: 1}, 4: {MaxRounds: 4}, 5: {MaxRounds: 5, Judged: true}, 100: {MaxRounds: 100, Judged: true},
	} {
		p, err := build(warmed(maxRounds, asItIs))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, p.Workloads[0].Precondition); diff != "" {
			t.Errorf("maxRounds %d: %s", maxRounds, diff)
		}
		if p.Workloads[1].Precondition != nil || strings.Contains(string(p.Workloads[0].Config), "maxRounds") {
			t.Errorf("maxRounds %d: %+v", maxRounds, p.Workloads)
		}
	}
	if SpecHash(warmed(0, asItIs).Spec) != SpecHash(warmed(25, asItIs).Spec) {
		t.Error("the default written out is another spec")
	}
	if SpecHash(warmed(25, asItIs).Spec) == SpecHash(benchmark(func(*v1alpha1.StorageBenchmark) {}).Spec) {
		t.Error("a precondition starts no other run")
	}
}

func TestEachPointOfASweepHasThePrecondition(t *testing.T) {
	p, err := build(warmed(7, func(w *v1alpha1.Workload) { w.Sweep = over(valued("iodepth", "1", "8")) }))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.Workloads[:2] {
		if w.Of != "oltp" || w.Precondition == nil || w.Precondition.MaxRounds != 7 {
			t.Errorf("%+v", w)
		}
	}
}

func TestTheRoundsOfASearchOfferItsHighestRate(t *testing.T) {
	p, err := build(warmed(0, func(w *v1alpha1.Workload) { w.Sweep = promised(func(*v1alpha1.SLO) {}) }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&trial.Precondition{MaxRounds: 25, Judged: true, Rate: 5000}, p.Workloads[0].Precondition); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrongWithAPreconditionNamesItsField(t *testing.T) {
	const field = "spec.workloads[oltp].precondition.maxRounds: "
	for name, c := range map[string]struct {
		maxRounds int32
		change    func(*v1alpha1.Workload)
		want      string // empty: it is accepted
	}{
		"a negative number":     {-1, asItIs, "-1 rounds are not between 1 and 100; omit it for 25"},
		"too many":              {101, asItIs, "101 rounds are not between 1 and 100; omit it for 25"},
		"iozone":                {5, func(w *v1alpha1.Workload) { w.Fio, w.Iozone = nil, &v1alpha1.IozoneWorkload{} }, "iozone runs a series of different tests"},
		"bonnie":                {5, func(w *v1alpha1.Workload) { w.Fio, w.Bonnie = nil, &v1alpha1.BonnieWorkload{} }, "bonnie runs a series of different tests"},
		"a flush ladder":        {5, func(w *v1alpha1.Workload) { w.Fio, w.FlushLadder = nil, &v1alpha1.FlushLadderWorkload{} }, "flushLadder runs a series of different tests"},
		"a warm-up of a ladder": {4, func(w *v1alpha1.Workload) { w.Fio, w.FlushLadder = nil, &v1alpha1.FlushLadderWorkload{} }, ""},
		"an offered rate":       {5, func(w *v1alpha1.Workload) { w.Fio.OfferedRate = 100 }, "the workload sets its rate with offeredRate, so the rate would be steady although the storage is not; remove offeredRate, or set it below 5 for a plain warm-up"},
		"an offer of filesync":  {5, func(w *v1alpha1.Workload) { w.Fio, w.Filesync = nil, &v1alpha1.FilesyncWorkload{OfferedRate: 5} }, "sets its rate with offeredRate"},
		"a warm-up with one":    {4, func(w *v1alpha1.Workload) { w.Fio.OfferedRate = 100 }, ""},
		"a sweep over offers":   {5, func(w *v1alpha1.Workload) { w.Sweep = over(valued("offeredRate", "100", "200")) }, "sets its rate with offeredRate"},
	} {
		_, err := build(warmed(c.maxRounds, c.change))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADurationCountsTheMostRoundsThatThereMayBe(t *testing.T) {
	const trials = 2 * 2 * 2 * 2 // targets × nodes × workloads × repeats
	for maxRounds, want := range map[int32]int{3: trials + 4*3, 5: trials + 4*5, 25: trials + 4*25} {
		p, err := build(warmed(maxRounds, asItIs))
		if err != nil {
			t.Fatal(err)
		}
		if got := Duration(p, checker{}); got != time.Duration(want)*time.Minute {
			t.Errorf("maxRounds %d: %s, want %d minutes", maxRounds, got, want)
		}
	}
}

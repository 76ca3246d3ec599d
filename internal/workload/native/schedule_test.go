package native

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// times of all operations of a schedule, without waiting for them.
func times(s *Schedule) []time.Duration {
	var out []time.Duration
	for s.taken = 0; s.taken < s.planned; s.taken++ {
		out = append(out, s.time())
	}
	return out
}

func TestEvenArrivalsHaveTheSameTimeBetweenThem(t *testing.T) {
	s := NewSchedule(Even, 1000, 250, 1)
	if s.Length() != 4*time.Second || s.Planned() != 1000 {
		t.Fatalf("%d operations in %s", s.Planned(), s.Length())
	}
	for i, at := range times(s) {
		if want := time.Duration(i) * 4 * time.Millisecond; at != want {
			t.Fatalf("operation %d is at %s and not at %s", i, at, want)
		}
	}
}

func TestPoissonArrivalsAreIndependentAndTheirRateIsExact(t *testing.T) {
	const n = 100_000
	s := NewSchedule(Poisson, n, 1000, 7)
	before, sum, squares, inSecond := time.Duration(0), 0.0, 0.0, map[int]float64{}
	for i, at := range times(s) {
		gap := (at - before).Seconds()
		if gap < 0 || at > s.Length() {
			t.Fatalf("operation %d is at %s, after %s, in %s", i, at, before, s.Length())
		}
		before, sum, squares = at, sum+gap, squares+gap*gap
		inSecond[int(at.Seconds())]++
	}
	// The gaps' deviation is their mean, and so is the variance of the count in a second.
	mean := sum / n
	if deviation := math.Sqrt(squares/n - mean*mean); math.Abs(mean-0.001) > 1e-5 || math.Abs(deviation/mean-1) > 0.02 {
		t.Errorf("the gaps are %v on average, with a deviation of %v", mean, deviation)
	}
	variance := 0.0
	for second := range 100 {
		variance += (inSecond[second] - 1000) * (inSecond[second] - 1000) / 100
	}
	if variance < 600 || variance > 1500 {
		t.Errorf("the variance of the count in a second is %v and not about 1000", variance)
	}
	if other := times(NewSchedule(Poisson, n, 1000, 8)); other[0] == times(NewSchedule(Poisson, n, 1000, 7))[0] {
		t.Error("another seed gives the same times")
	}
}

// The mistake that an open loop is there to avoid: what comes while the storage stalls must wait,
// and its wait must count.
func TestAStallIsInTheLatencyOfEverythingThatCameMeanwhile(t *testing.T) {
	const stall = 100 * time.Millisecond
	s := NewSchedule(Even, 400, 1000, 1)
	var latencies []time.Duration
	_, err := Run(t.Context(), 1, func(thread *Thread) error {
		for {
			index, due, ok := s.Take(thread)
			if !ok {
				return nil
			}
			if thread.Clock.Now() < due {
				return errors.New("an operation began before its time")
			}
			if index == 100 {
				time.Sleep(stall)
			}
			latencies = append(latencies, thread.Clock.Now()-due)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(latencies))+s.Backlog() != 400 || len(latencies) < 200 {
		t.Fatalf("%d operations, and a backlog of %d", len(latencies), s.Backlog())
	}
	for i := 101; i < 190; i++ { // due 1 ms to 90 ms after the stall's begin
		if least := stall - time.Duration(i-100)*time.Millisecond; latencies[i] < least {
			t.Errorf("operation %d waited for %s, less than %s", i, latencies[i], least)
		}
	}
}

func TestWhatCannotBeginInTimeIsTheBacklog(t *testing.T) {
	s := NewSchedule(Even, 100, 1000, 1) // 10 operations a thread can do of 100 in 100 ms
	done := 0
	_, err := Run(t.Context(), 1, func(thread *Thread) error {
		for {
			if _, _, ok := s.Take(thread); !ok {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
			done++
		}
	})
	if err != nil || done > 12 || done < 1 || s.Backlog() != int64(100-done) {
		t.Errorf("%d were done, with a backlog of %d, %v", done, s.Backlog(), err)
	}
}

func TestAThreadThatWaitsForItsTimeCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := NewSchedule(Even, 2, 1.0/3600, 1) // the second is due in an hour
	_, err := Run(ctx, 2, func(thread *Thread) error {
		for {
			if _, _, ok := s.Take(thread); !ok {
				return nil
			}
			// The clock runs from the first on, however long it took to get there.
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	})
	if !errors.Is(err, context.Canceled) || s.Backlog() != 1 {
		t.Errorf("got %v, with a backlog of %d", err, s.Backlog())
	}
}

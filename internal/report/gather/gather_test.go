package gather

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/samples/codec"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// objects are bodies by key; reading "away" fails.
type objects map[string][]byte

func (o objects) Put(context.Context, string, []byte) error { return errors.New("read only") }

func (o objects) Get(ctx context.Context, key string) ([]byte, error) {
	return o.GetLimited(ctx, key, result.MaxDocument)
}

func (o objects) GetLimited(_ context.Context, key string, limit int) ([]byte, error) {
	body, ok := o[key]
	switch {
	case key == "w/away":
		return nil, store.ErrUnreachable
	case !ok:
		return nil, store.ErrNotFound
	case len(body) > limit:
		return nil, store.ErrTooLarge
	}
	return body, nil
}

func encoded(t *testing.T, rows int) []byte {
	t.Helper()
	table := &samples.Table{}
	for i := range rows {
		table.Set(table.Add(time.Unix(int64(i), 0), samples.Workload, "read"), samples.Seconds, 1)
	}
	body, err := codec.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestSeriesReadsWhatThereIsRoomFor(t *testing.T) {
	small := encoded(t, 2)
	stored := objects{"w/a": small, "w/b": small, "w/long": encoded(t, 50), "w/forged": []byte("PAR1 no table PAR1"), "w/large": make([]byte, 70_000)}
	limits := Limits{Trials: 10, Bytes: 1 << 20, Object: 1 << 16, Rows: 10}
	for name, c := range map[string]struct {
		trials       []string
		change       func(*Limits)
		series, left int
		err          error
	}{
		"all":                   {trials: []string{"a", "b"}, series: 2},
		"none stored":           {trials: []string{"x", "a"}, series: 1, left: 1},
		"forged, large or long": {trials: []string{"forged", "large", "long", "a"}, series: 1, left: 3},
		"names that lead away":  {trials: []string{"../a", "a"}, series: 1, left: 1},
		"few trials":            {trials: []string{"a", "b"}, change: func(l *Limits) { l.Trials = 1 }, series: 1, left: 1},
		"few bytes":             {trials: []string{"a", "b"}, change: func(l *Limits) { l.Bytes = len(small) }, series: 1, left: 1},
		"a store that is away":  {trials: []string{"a", "away", "b"}, series: 1, left: 2, err: store.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			limits := limits
			if c.change != nil {
				c.change(&limits)
			}
			w := report.WorkerTrials{Worker: trial.Worker{Name: "w"}}
			for _, id := range c.trials {
				w.Trials = append(w.Trials, result.TrialSummary{Trial: trial.Trial{ID: id}})
			}
			series, left, err := Series(t.Context(), stored, func(worker, trial string) string { return fmt.Sprint(worker, "/", trial) }, []report.WorkerTrials{w}, limits)
			if len(series) != c.series || left != c.left || !errors.Is(err, c.err) {
				t.Errorf("%d series, %d left, %v; want %d, %d, %v", len(series), left, err, c.series, c.left, c.err)
			}
		})
	}
}

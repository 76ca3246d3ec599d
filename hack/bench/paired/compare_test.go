package paired

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// constant returns a side of that rate, which writes its name down.
func constant(rate float64, name string, order *strings.Builder) Side {
	return func(context.Context) (float64, error) {
		order.WriteString(name)
		return rate, nil
	}
}

func TestPairsAreMeasuredInChangingOrder(t *testing.T) {
	var order strings.Builder
	r, err := Compare(t.Context(), Effort{Min: 4, Max: 10, HalfWidth: 0.01},
		constant(3, "A", &order), constant(2, "B", &order), func(Result) {})
	if err != nil || r.Ratio != 1.5 || r.MedianA() != 3 || r.MedianB() != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
	if order.String() != "ABBAABBA" {
		t.Errorf("the order is %s", &order)
	}
}

func TestPairsAreAddedUntilTheIntervalIsNarrow(t *testing.T) {
	var order strings.Builder
	var noise float64
	unsteady := func(context.Context) (float64, error) {
		noise++
		return 1 + float64(int(noise)%4), nil
	}
	seen := 0
	r, err := Compare(t.Context(), Effort{Min: 3, Max: 9, HalfWidth: 1e-6}, unsteady, constant(1, "", &order), func(Result) { seen++ })
	if err != nil || len(r.A) != 9 || len(r.B) != 9 || seen != 9 {
		t.Errorf("%d and %d rates, %d seen, %v", len(r.A), len(r.B), seen, err)
	}
}

func TestASideThatFailsOrHasNoRateEndsTheComparison(t *testing.T) {
	var order strings.Builder
	good, broken := constant(1, "", &order), errors.New("broken")
	bad := func(context.Context) (float64, error) { return 0, broken }
	if _, err := Compare(t.Context(), Effort{Min: 1, Max: 1}, good, bad, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := Compare(t.Context(), Effort{Min: 1, Max: 1}, constant(0, "", &order), good, nil); err == nil {
		t.Error("a rate of 0 is taken for one")
	}
}

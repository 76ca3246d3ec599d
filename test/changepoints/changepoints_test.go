//go:build changepoints

package changepoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"storagebench.io/storagebench/internal/changes"
)

const (
	ofEach = 50
	least  = 500
)

// expected is a change point as Otava finds it.
type expected struct {
	Index  int     `json:"index"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	P      float64 `json:"p"`
}

func TestChangePointsAreOtavas(t *testing.T) {
	python := os.Getenv("STORAGEBENCH_OTAVA")
	if python == "" {
		t.Fatal("STORAGEBENCH_OTAVA names no Python with apache-otava: run make test-changepoints")
	}
	var all [][]float64
	var names []string
	for k, kind := range kinds {
		r := rand.New(rand.NewPCG(uint64(k), 2026))
		for i := range ofEach {
			all = append(all, kind.series(r, 3+r.IntN(198)))
			names = append(names, fmt.Sprintf("%s %d", kind.name, i))
		}
	}
	equal, points := 0, 0
	for i, want := range ask(t, python, all) {
		got := changes.Detect(all[i])
		points += len(want)
		if difference := compare(want, got); difference != "" {
			t.Errorf("%s (%d numbers): %s", names[i], len(all[i]), difference)
			continue
		}
		equal++
	}
	if equal < least || points == 0 {
		t.Errorf("only %d series are equal, with %d points", equal, points)
	}
	figures := fmt.Sprintf("%d of %d series of %d kinds equal, %d change points", equal, len(all), len(kinds), points)
	if err := os.WriteFile(os.Getenv("STORAGEBENCH_FIGURES"), []byte(figures), 0o600); err != nil {
		t.Error(err)
	}
}

// ask returns Otava's change points of each series.
func ask(t *testing.T, python string, all [][]float64) (answer [][]expected) {
	t.Helper()
	question, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, "oracle.py")
	var problems bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(question), &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, problems.String())
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer) != len(all) {
		t.Fatalf("%d answers to %d questions", len(answer), len(all))
	}
	return answer
}

// compare says what differs: indices not at all, the rest by less than rounding.
func compare(want []expected, got []changes.Point) string {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) }
	if len(want) != len(got) {
		return fmt.Sprintf("Otava finds %d points, we %d: %v, %v", len(want), len(got), want, got)
	}
	for i, w := range want {
		if g := got[i]; w.Index != g.Index || !near(w.Before, g.Before) || !near(w.After, g.After) || !near(w.P, g.P) {
			return fmt.Sprintf("Otava's point %+v is %+v", w, g)
		}
	}
	return ""
}

// A comparison that finds no difference must be able to.
func TestCompareFindsDifferences(t *testing.T) {
	want := []expected{{Index: 3, Before: 1, After: 2, P: 0.0005}}
	for name, got := range map[string][]changes.Point{
		"none":          nil,
		"another index": {{Index: 4, Before: 1, After: 2, P: 0.0005}},
		"another level": {{Index: 3, Before: 1, After: 2.001, P: 0.0005}},
		"another p":     {{Index: 3, Before: 1, After: 2, P: 0.0006}},
	} {
		if compare(want, got) == "" {
			t.Errorf("%s is taken for equal", name)
		}
	}
	if d := compare(want, []changes.Point{{Index: 3, Before: 1, After: 2, P: 0.0005}}); d != "" {
		t.Error(d)
	}
}

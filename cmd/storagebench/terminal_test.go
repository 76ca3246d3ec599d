package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

// halfway is a benchmark that has measured so many of 8 trials, after a minute of work.
func halfway(stored int32, now time.Time) *v1alpha1.StorageBenchmark {
	b := &v1alpha1.StorageBenchmark{}
	b.Namespace, b.Name = "lab", "flush"
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: "Running", Message: "measuring"}}
	b.Status.Run = &v1alpha1.RunStatus{
		TrialsStored: stored, TrialsPlanned: 8, Progress: "2/8",
		ActiveFor: &metav1.Duration{Duration: 40 * time.Second}, ActiveSince: &metav1.Time{Time: now.Add(-20 * time.Second)},
	}
	return b
}

func TestMeter(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var file, screen bytes.Buffer
	lines, bar := newMeter(&file), newMeter(&screen)
	bar.terminal = true
	for range 3 { // the same state is one line, and a bar that is drawn three times
		lines.show("lab/flush", halfway(2, now), now)
		bar.show("lab/flush", halfway(2, now), now)
	}
	lines.close()
	bar.close()
	if want := "Running 2/8: measuring\n"; file.String() != want {
		t.Errorf("in a file: %q, want %q", file.String(), want)
	}
	drawn := eraseLine + "lab/flush [=======                       ] 2/8 Running 1m0s, about 3m0s left"
	if want := strings.Repeat(drawn, 3) + eraseLine; screen.String() != want {
		t.Errorf("on a terminal: %q, want %q", screen.String(), want)
	}
}

func TestTimeLeftIsSaidOnlyWhenItIsKnown(t *testing.T) {
	for _, c := range []struct {
		done, all int
		active    time.Duration
		want      string
	}{
		{0, 6, time.Minute, ""}, {6, 6, time.Minute, ""}, {3, 6, 0, ""}, {3, 6, 30 * time.Second, ", about 30s left"},
	} {
		if got := timeLeft(c.done, c.all, c.active); got != c.want {
			t.Errorf("%d of %d after %s: %q, want %q", c.done, c.all, c.active, got, c.want)
		}
	}
}

func TestColours(t *testing.T) {
	var b bytes.Buffer
	text := "NOT QUALIFIED for etcd\n  missed: p99\nNAME  Qualified\nUnqualified and notmissed\n"
	if n, err := (painter{&b}).Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("wrote %d of %d: %v", n, len(text), err)
	}
	want := red + "NOT QUALIFIED" + noColour + " for etcd\n  " + red + "missed" + noColour + ": p99\nNAME  " + green + "Qualified" + noColour + "\nUnqualified and notmissed\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	if w := coloured(&b); raw(w) != &b {
		t.Error("what is no terminal gets colours")
	}
	for _, word := range []string{"QUALIFIED", "INVALID", "Inconclusive", "Worse", "NoWorse"} {
		if colours[judgements.FindString(word)] == "" {
			t.Errorf("%s has no colour", word)
		}
	}
}

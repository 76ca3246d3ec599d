package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/runner"
	"storagebench.io/storagebench/internal/trial"
)

// story is what happens in a run of two trials.
func story(p *progress) {
	a, b := trial.Trial{ID: "a.r001"}, trial.Trial{ID: "b.r001"}
	for _, e := range []runner.Event{
		{Step: runner.Preparing, Trial: a, Index: 1},
		{Step: runner.Running, Trial: a, Index: 1, Expected: 90 * time.Second},
		{Step: runner.Measured, Trial: a, Index: 1},
		{Step: runner.Running, Trial: b, Index: 2},
		{Step: runner.Failed, Trial: b, Index: 2, Err: errors.New("the disk is on fire")},
		{Step: runner.Uploading, Index: 2},
	} {
		e.Total = 2
		p.event("fast", e)
	}
	slog.New(p.logHandler()).Info("nobody wants to know")
	slog.New(p.logHandler()).Warn("the store is away", "pending", 2)
	p.close()
}

func TestProgressInAFileIsPlainLines(t *testing.T) {
	var b bytes.Buffer
	story(newProgress(&b))
	want := `1/2 fast a.r001: preparing
1/2 fast a.r001: running, about 1m30s
1/2 fast a.r001: measured
2/2 fast b.r001: running
fast b.r001: failed: the disk is on fire
level=WARN msg="the store is away" pending=2
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestProgressOnATerminalIsOneBar(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.terminal = true
	story(p)
	// What stays on the screen: a line that is drawn over is gone.
	var screen []string
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
		drawn := strings.Split(line, "\r\x1b[K")
		screen = append(screen, drawn[len(drawn)-1])
	}
	want := []string{
		"fast b.r001: failed: the disk is on fire",
		`level=WARN msg="the store is away" pending=2`,
	}
	if strings.Join(screen, "\n") != strings.Join(want, "\n") {
		t.Errorf("on the screen:\n%s", strings.Join(screen, "\n"))
	}
	if bar := "[===============               ] 1/2 fast a.r001: measured"; !strings.Contains(b.String(), bar) {
		t.Errorf("there was no bar at the half: %q", b.String())
	}
}

package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"storagebench.io/storagebench/internal/runner"
)

// progress shows the progress of a run: a bar on a terminal, and plain lines
// elsewhere.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	drawn    bool
	done     int
}

func newProgress(w io.Writer) *progress {
	return &progress{w: raw(w), terminal: isTerminal(w)}
}

const barWidth = 30

// event reports a step. It draws nothing during a trial, so that this program
// does not disturb it; the line says how long the trial takes.
func (p *progress) event(target string, e runner.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fmt.Sprintf("%s %s: %s", target, e.Trial.ID, e.Step)
	switch e.Step {
	case runner.Uploading:
		return
	case runner.Running:
		if e.Expected > 0 {
			what += ", about " + e.Expected.Round(time.Second).String()
		}
	case runner.Preconditioning:
		what += fmt.Sprintf(", round %d of at most %d", e.Round, e.MaxRounds)
		if e.Expected > 0 {
			what += ", about " + e.Expected.Round(time.Second).String()
		}
	case runner.Enough:
		p.done = e.Index
		what += fmt.Sprintf(" after %d repeats", e.Trial.Repeat)
	case runner.Measured, runner.Failed, runner.Reused, runner.Skipped:
		p.done = e.Index
	}
	if e.Err != nil {
		p.line(fmt.Sprintf("%s %s: %s: %v", target, e.Trial.ID, e.Step, e.Err))
	}
	if !p.terminal {
		if e.Err == nil {
			p.line(fmt.Sprintf("%d/%d %s", e.Index, e.Total, what))
		}
		return
	}
	filled := barWidth * p.done / max(1, e.Total)
	fmt.Fprintf(p.w, eraseLine+"[%s%s] %d/%d %s", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), p.done, e.Total, escaped(what))
	p.drawn = true
}

// line writes a whole line in place of the bar.
func (p *progress) line(text string) {
	if p.drawn {
		fmt.Fprint(p.w, eraseLine)
		p.drawn = false
	}
	fmt.Fprintln(p.w, escaped(text))
}

func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprintln(p.w)
		p.drawn = false
	}
}

// Write writes warnings of the log without breaking the bar.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// logHandler writes warnings only; failures of trials are already events.
func (p *progress) logHandler() slog.Handler {
	return slog.NewTextHandler(p, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	})
}

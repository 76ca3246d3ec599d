package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"storagebench.io/storagebench/api/v1alpha1"
)

// isTerminal reports whether people look at what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eraseLine goes to the begin of a line of a terminal, and clears it.
const eraseLine = "\r\x1b[K"

// meter shows how far a benchmark in the cluster is: one bar on a terminal, which is drawn again and
// again, and elsewhere a line whenever something has changed.
type meter struct {
	w        io.Writer
	terminal bool
	last     string
	drawn    bool
}

func newMeter(w io.Writer) *meter { return &meter{w: raw(w), terminal: isTerminal(w)} }

// show draws the benchmark's state; what names it on a terminal.
func (m *meter) show(what string, b *v1alpha1.StorageBenchmark, now time.Time) {
	line := escaped(stateLine(b))
	changed := line != m.last
	m.last = line
	if !m.terminal {
		if changed {
			fmt.Fprintln(m.w, line)
		}
		return
	}
	done, all, active := 0, 1, time.Duration(0)
	if run := b.Status.Run; run != nil {
		done, all, active = int(run.TrialsStored), max(int(run.TrialsPlanned), 1), activeFor(run, now)
	}
	filled := min(barWidth*done/all, barWidth)
	fmt.Fprintf(m.w, "%s%s [%s%s] %d/%d %s %s%s", eraseLine, escaped(what), strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled),
		done, all, escaped(stateOf(b)), active.Round(time.Second), timeLeft(done, all, active))
	m.drawn = true
}

// timeLeft is about how long the trials take that are left, if they take as long as those that are
// done. Of none nothing is known.
func timeLeft(done, all int, active time.Duration) string {
	if done < 1 || done >= all || active <= 0 {
		return ""
	}
	return fmt.Sprintf(", about %s left", (active * time.Duration(all-done) / time.Duration(done)).Round(time.Second))
}

// close removes the bar.
func (m *meter) close() {
	if m.drawn {
		fmt.Fprint(m.w, eraseLine)
		m.drawn = false
	}
}

// ANSI colours of what is well, undecided or bad.
const (
	green, yellow, red, noColour = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[0m"
)

// judgements are the words that say how a question was answered. The longest come first.
var judgements = regexp.MustCompile(`\b(NOT QUALIFIED|QUALIFIED|INCONCLUSIVE|INVALID|NotQualified|Qualified|Inconclusive|Invalid|Worse|Better|NoWorse|Regression|invalidates|missed)\b`)

var colours = map[string]string{
	"QUALIFIED": green, "Qualified": green, "Better": green, "NoWorse": green,
	"INCONCLUSIVE": yellow, "Inconclusive": yellow,
	"NOT QUALIFIED": red, "NotQualified": red, "INVALID": red, "Invalid": red, "Worse": red, "Regression": red, "invalidates": red, "missed": red,
}

// coloured returns a writer of text that colours judgements for people. It is for tables and sentences
// only: documents for programs stay as they are. https://no-color.org
func coloured(w io.Writer) io.Writer {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return &printable{w: raw(w)}
	}
	return &printable{w: painter{raw(w)}}
}

// painter colours the judgements in what is written to it. A table aligns its columns before it is
// written, so colours do not shift them.
type painter struct{ w io.Writer }

// Write writes all of text, with colours.
func (p painter) Write(text []byte) (int, error) {
	painted := judgements.ReplaceAllStringFunc(string(text), func(word string) string { return colours[word] + word + noColour })
	if _, err := io.WriteString(p.w, painted); err != nil {
		return 0, err
	}
	return len(text), nil
}

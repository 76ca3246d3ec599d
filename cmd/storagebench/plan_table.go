package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// printPlanTable prints the plan for people: workloads with what was chosen, then the trials, then
// the sum.
func printPlanTable(w io.Writer, d *planDocument) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TARGET\tWORKLOAD\tFILES\tSIZE\tNEEDS\tWRITTEN FIRST\tTRIALS\tA TRIAL WRITES\tA TRIAL TAKES")
	for _, p := range d.Workloads {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", p.Target, p.Workload, p.states(), p.sizeText(),
			bytesOrNone(p.Needs), bytesOrNone(p.Prepares), p.Trials, p.bytesText(p.Writes), p.timeText(p.Seconds))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	d.explain(w)
	fmt.Fprintln(w)
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NO\tTRIAL\tBLOCK\tWORKLOAD\tVARIANT\tSETTINGS")
	for i, t := range d.Trials {
		variant := t.Variant
		if variant == "" {
			variant = "-"
		}
		block := "-"
		if t.Block > 0 {
			block = strconv.Itoa(t.Block)
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, t.ID, block, t.Workload, variant, oneLine(settingsOf(d, t.Variant)))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	names := make([]string, 0, 5)
	for _, worker := range d.Workers {
		if names = append(names, worker.Name); len(names) == 5 && len(d.Workers) > 5 {
			names = append(names, "…")
			break
		}
	}
	fmt.Fprintf(w, "\n%s, one after the other: %s. Each runs %s.\n", suggest.Count(len(d.Workers), "worker"), strings.Join(names, ", "), d.howMany())
	d.explainStop(w)
	d.explainLeast(w)
	fmt.Fprintf(w, "In all %s, and %s written.", d.timeText(d.Seconds), d.bytesText(d.Bytes))
	if d.BytesEstimated || d.SecondsAtLeast {
		fmt.Fprintf(w, " That assumes %s/s (--rate).", workload.Human(d.AssumedRate))
	}
	fmt.Fprintln(w)
	for _, advice := range d.Advice {
		fmt.Fprintf(w, "Too few to answer: %s.\n", advice)
	}
	switch {
	case d.TooLong:
		fmt.Fprintf(w, "That is more than spec.timeout, %s: raise it, or lower trials.min, the workloads' runtime or precondition.maxRounds.\n", seconds(d.TimeoutSeconds))
	case d.TimeoutSeconds > 0 && d.Seconds > d.TimeoutSeconds:
		fmt.Fprintf(w, "It may be more than spec.timeout, %s: the run then ends with what was measured until then.\n", seconds(d.TimeoutSeconds))
	}
	return nil
}

func (d *planDocument) howMany() string {
	if d.Stop != nil {
		return "at most " + suggest.Count(len(d.Trials), "trial")
	}
	return "all " + suggest.Count(len(d.Trials), "trial")
}

// explainStop says when a worker measures a workload no more.
func (d *planDocument) explainStop(w io.Writer) {
	for _, k := range d.Searches {
		fmt.Fprintf(w, "%s searches from %d to %d per second, with at most %s.\n", k.Workload, k.From, k.To, suggest.Count(k.Probes, "probe"))
	}
	if d.Stop == nil || d.Stop.Min == d.Stop.Max {
		return
	}
	fmt.Fprintf(w, "A workload has %d to %d repeats: it is measured until its intervals are within ±%s", d.Stop.Min, d.Stop.Max, percent(d.Stop.HalfWidth))
	switch d.Stop.Gates {
	case trial.GatesAlone:
		fmt.Fprint(w, " (or, if it has gates, until all of them are decided or no repeat that is left could decide one)")
	case trial.GatesOrWidth:
		fmt.Fprint(w, ", or all of its gates are decided")
	}
	if d.Stop.BudgetSeconds > 0 {
		fmt.Fprintf(w, ", or the trials of the worker have taken its share of the budget: %s", seconds(d.Stop.BudgetSeconds))
		if len(d.Workers) > 1 {
			fmt.Fprint(w, ", and what the workers before it have left")
		}
	}
	fmt.Fprintln(w, ".")
}

// explainLeast says that the sum is the most, if trials or rounds may end early.
func (d *planDocument) explainLeast(w io.Writer) {
	if d.LeastSeconds > 0 && d.LeastSeconds < d.Seconds {
		fmt.Fprintf(w, "The least is %s; what follows is the most.\n", d.timeText(d.LeastSeconds))
	}
}

func percent(ratio float64) string { return strconv.FormatFloat(100*ratio, 'g', 4, 64) + " %" }

// states are those of the files, once each.
func (p plannedWork) states() string {
	if len(p.Files) == 0 {
		return "-"
	}
	var out []string
	for _, f := range p.Files {
		if s := string(f.Files); len(out) == 0 || out[len(out)-1] != s {
			out = append(out, s)
		}
	}
	return strings.Join(out, ",")
}

func (p plannedWork) sizeText() string {
	if p.Size == nil {
		return "given"
	}
	text := workload.Human(p.Size.Bytes)
	if p.Size.Parts > 1 {
		text = fmt.Sprintf("%d × %s", p.Size.Parts, text)
	}
	return text + " chosen"
}

// explain prints why sizes and files were chosen, and what does not fit. What is the same for several workloads, as
// for the points of a sweep, is said once.
func (d *planDocument) explain(w io.Writer) {
	var said []string
	whose := map[string][]string{} // by what is said
	for _, p := range d.Workloads {
		for _, text := range p.reasons() {
			if whose[text] == nil {
				said = append(said, text)
			}
			whose[text] = append(whose[text], p.Workload+" on "+p.Target)
		}
	}
	for _, text := range said {
		fmt.Fprintf(w, "%s: %s.\n", strings.Join(whose[text], ", "), text)
	}
}

// reasons are sentences without their full stop.
func (p plannedWork) reasons() []string {
	var out []string
	add := func(format string, values ...any) { out = append(out, fmt.Sprintf(format, values...)) }
	if p.Size != nil {
		add("size: %s (%s)", p.Size.Why, p.From)
		if p.Size.TooSmall {
			add("less than twice the caches in the path, so its reads will have the verdict WorkingSetTooSmall: set spec.workloads[%s].%s with a size, or use direct I/O", p.Workload, p.Engine)
		}
	}
	if text := p.warmUp(); text != "" {
		add("%s", text)
	}
	for _, c := range p.Changes {
		add("changed: %s", c)
	}
	for _, f := range p.Files {
		job := ""
		if f.Job != p.Workload {
			job = " of " + f.Job
		}
		add("files%s: %s: %s", job, f.Files, f.Why)
	}
	if p.TooLarge {
		what := "lower its size, or make the target larger"
		if p.Mode == trial.Block {
			what = "lower its size, or use a larger device"
		}
		add("spec.workloads[%s].%s needs %s, but only %s are free: %s", p.Workload, p.Engine, workload.Human(p.Needs), workload.Human(p.Free), what)
	}
	return out
}

// warmUp says what runs before the first trial; empty: nothing.
func (p plannedWork) warmUp() string {
	written := ""
	if p.Writes > 0 {
		written = fmt.Sprintf(", and at most %s written", p.bytesText(workload.Product(p.Writes, uint64(p.Rounds))))
	}
	takes := func(rounds int) string { return p.timeText(float64(rounds) * (p.Seconds + settle)) }
	switch {
	case p.Rounds == 0:
		return ""
	case p.RoundsJudged:
		return fmt.Sprintf("before its first trial %d to %d rounds that are not measured, until the last five are steady: %s to %s%s", p.LeastRounds, p.Rounds, takes(p.LeastRounds), takes(p.Rounds), written)
	default:
		return fmt.Sprintf("before its first trial %s of plain warm-up that are not measured: %s%s", suggest.Count(p.Rounds, "round"), takes(p.Rounds), written)
	}
}

func bytesOrNone(n uint64) string {
	if n == 0 {
		return "-"
	}
	return workload.Human(n)
}

func seconds(s float64) string {
	d := time.Duration(min(s, 1e9) * float64(time.Second))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/export"
	"storagebench.io/storagebench/internal/report/gather"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

// reportFormats are the output formats of report, and tables what its CSV can be of.
var (
	reportFormats = []string{"table", "html", "markdown", "junit", "csv", "benchstat", "parquet", "json"}
	csvTables     = []string{"rows", "trials", "comparisons", "sweeps"}
)

type reportFlags struct{ output, of, out, trial string }

func newReportCommand() *cobra.Command {
	f := reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print what a run measured, or write it as a page",
		Long: `Print a run's summary, or write it in the format of another program.

` + sourceHelp + `

The table shows medians over trials with their 95 % intervals, and percentiles of all
trials' I/Os together. The other formats:

  html       one page that needs no network: the answer, the verdicts with their evidence, the
             rows, latency by percentile, what happened over time, settings, the environment
  markdown   for a pull request
  junit      JUnit XML for a pipeline: a case for each number, which fails if a verdict invalidates
             it, and for each worker that failed
  csv        a line for each row and metric (--of rows), trial and metric (--of trials), or
             comparison and metric (--of comparisons), in SI base units
  benchstat  the trials as lines of Go benchmarks
  parquet    the samples of one trial over time, the Parquet file of the trial that --trial names
             (WORKER/TRIAL, as csv --of trials has them)
  json       the summary

Failures and missing trials are listed on stderr.

Exit codes: 0 printed, 1 cannot read the run, 2 bad input; of a run with gates also
3 one is missed, 4 not all of them are decided.`,
		Example: `  storagebench report results/default/flush-cost/20261121-101500

  # for a browser, or as an attachment
  storagebench report -o html --out report.html results/default/flush-cost/20261121-101500

  # of a benchmark in the cluster, for a comment on a pull request
  storagebench report -o markdown storage-lab/flush-cost

  # for a spreadsheet
  storagebench report -o csv --of trials s3://results/storage-lab/flush-cost/20261121-101500 > trials.csv`,
		Args: arguments(1, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags().Changed("of")); err != nil {
				return err
			}
			return f.report(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "table", "output format: "+strings.Join(reportFormats, ", "))
	completeOutput(cmd, reportFormats...)
	cmd.Flags().StringVar(&f.of, "of", "rows", "what csv has lines of: "+strings.Join(csvTables, ", "))
	cmd.Flags().StringVar(&f.trial, "trial", "", "trial whose samples parquet writes: WORKER/TRIAL")
	cmd.Flags().StringVar(&f.out, "out", "", "file to write; - or nothing: stdout")
	return cmd
}

func (f reportFlags) check(of bool) error {
	if err := checkOutput(f.output, reportFormats...); err != nil {
		return err
	}
	if of && f.output != "csv" {
		return usage(fmt.Errorf("--of is for -o csv, and the format is %s", f.output))
	}
	if (f.trial != "") != (f.output == "parquet") {
		return usage(fmt.Errorf("-o parquet needs --trial WORKER/TRIAL, and no other format takes it"))
	}
	if !slices.Contains(csvTables, f.of) {
		return usage(fmt.Errorf("--of %q is not known; %s", f.of, suggest.Remedy(f.of, csvTables)))
	}
	return nil
}

// needsTrials reports whether a format shows single trials.
func (f reportFlags) needsTrials() bool {
	return f.output == "html" || f.output == "benchstat" || f.output == "csv" && f.of == "trials"
}

func (f reportFlags) report(ctx context.Context, name string, stdin io.Reader, stdout, stderr io.Writer) error {
	src, err := openSource(ctx, name, stdin)
	if err != nil {
		return err
	}
	s, err := src.readSummary(ctx)
	if err != nil {
		return err
	}
	if f.output == "parquet" {
		body, err := src.samples(ctx, f.trial)
		if err != nil {
			return err
		}
		return writeOut(stdout, f.out, func(w io.Writer) error { _, err := raw(w).Write(body); return err })
	}
	in := page.Input{Summary: s, Location: name}
	if f.needsTrials() {
		var missing int
		if in.Workers, missing, err = src.trials(ctx, s); err != nil {
			return err
		}
		if missing > 0 {
			fmt.Fprintf(stderr, "the trials of %s cannot be read: use the run's directory or its s3:// address\n", suggest.Count(missing, "worker"))
		}
	}
	if f.output == "html" && src.objects != nil {
		if in.Series, in.SeriesLeft, err = gather.Series(ctx, src.objects, samplesKey, in.Workers, seriesLimits); err != nil {
			return fmt.Errorf("%s: %w", src.name, err)
		}
	}
	remarks(stderr, s)
	if err := writeOut(stdout, f.out, func(w io.Writer) error { return f.write(w, in) }); err != nil {
		return err
	}
	return answered(s)
}

// answered returns the exit code of a run with gates.
func answered(s result.Summary) error {
	if s.Answer == nil || len(s.Gates) == 0 && s.Answer.Answer != result.Regression {
		return nil
	}
	return exitOf(s.Answer.Answer)
}

// exitOf returns the exit code of an answer about gates.
func exitOf(answer string) error {
	switch answer {
	case result.Qualified:
		return nil
	case result.NotQualified, result.Regression:
		return outcome(exitRegression)
	default:
		return outcome(exitInconclusive)
	}
}

func (f reportFlags) write(w io.Writer, in page.Input) error {
	s, workers := in.Summary, in.Workers
	switch f.output {
	case "html":
		return page.Write(raw(w), in)
	case "markdown":
		return export.Markdown(w, s)
	case "junit":
		return export.JUnit(raw(w), s)
	case "benchstat":
		if err := export.Benchstat(w, s, workers); !errors.Is(err, export.ErrNoTrials) {
			return err
		}
		return badInput(in.Location, export.ErrNoTrials.Error(), "use the run's directory or its s3:// address")
	case "csv":
		switch f.of {
		case "trials":
			return export.Trials(w, workers)
		case "comparisons":
			return export.Comparisons(w, s)
		case "sweeps":
			return export.Sweeps(w, s)
		}
	}
	return printSummary(w, f.output, s)
}

// writeOut writes to stdout, or to a file: all of it, or nothing.
func writeOut(stdout io.Writer, file string, write func(io.Writer) error) error {
	if file == "" || file == "-" {
		return write(stdout)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil { //nolint:gosec // a report is for others to read
		return usage(fmt.Errorf("--out: %w", err))
	}
	return nil
}

// remarks returns what else readers of the table must know.
func remarks(w io.Writer, s result.Summary) {
	if s.Imported != nil {
		fmt.Fprintf(w, "imported from the output of %s\n", s.Imported.Tool)
		for _, note := range s.Imported.Notes {
			fmt.Fprintln(w, "-", note)
		}
	}
	if s.Stored < s.Planned {
		fmt.Fprintf(w, "%d of %s not measured\n", s.Planned-s.Stored, suggest.Count(s.Planned, "trial"))
	}
	for _, worker := range slices.Sorted(maps.Keys(s.Failures)) {
		fmt.Fprintf(w, "%s failed: %v\n", worker, s.Failures[worker])
	}
}

// printSummary writes a summary as a table, json or csv.
func printSummary(w io.Writer, output string, s result.Summary) error {
	switch output {
	case "table":
		w = coloured(w)
		return errors.Join(report.Answer(w, s.Answer), report.Table(w, s), report.Gates(w, s), report.Sweeps(w, s), report.WriteVerdicts(w, s), report.Comparisons(w, s), report.Matrix(w, s))
	case "csv":
		return export.Rows(w, s)
	default:
		return printJSON(w, s)
	}
}

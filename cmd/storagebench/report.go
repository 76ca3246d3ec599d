package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

// reportFormats are the output formats of report.
var reportFormats = []string{"table", "html", "csv", "json"}

func newReportCommand() *cobra.Command {
	output, out := "", ""
	cmd := &cobra.Command{
		Use:   "report FILE|DIR",
		Short: "Print what a run measured, or write it as a page",
		Long: `Print a run's summary: a summary.json, or the only one below a directory that run --out
or import --out wrote. - is stdin.

The table shows medians over trials with their 95 % intervals, and percentiles of all
trials' I/Os together. html is one page that needs no network: the answer, the verdicts with
their evidence, the rows, latency by percentile, the environment. csv has a line for each row and metric, in SI base units. Failures
and missing trials are listed on stderr.

Exit codes: 0 printed, 1 cannot read the file, 2 bad input.`,
		Example: `  storagebench report results/default/flush-cost/20261121-101500

  # for a browser, or as an attachment
  storagebench report -o html --out report.html results/default/flush-cost/20261121-101500

  # for a spreadsheet
  storagebench report -o csv summary.json > summary.csv`,
		Args: arguments(1, "FILE or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, reportFormats...); err != nil {
				return err
			}
			s, err := readSummary(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			remarks(cmd.ErrOrStderr(), s)
			return writeOut(cmd.OutOrStdout(), out, func(w io.Writer) error {
				if output == "html" {
					return page.Write(w, page.Input{Summary: s, Location: args[0]})
				}
				return printSummary(w, output, s)
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: "+strings.Join(reportFormats, ", "))
	cmd.Flags().StringVar(&out, "out", "", "file to write; - or nothing: stdout")
	return cmd
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
		return errors.Join(report.Table(w, s), report.WriteVerdicts(w, s), report.Comparisons(w, s), report.Matrix(w, s))
	case "csv":
		return report.CSV(w, s)
	default:
		return printJSON(w, s)
	}
}

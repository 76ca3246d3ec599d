package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

func newReportCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "report FILE|DIR",
		Short: "Print what a run measured",
		Long: `Print a run's summary: a summary.json, or the only one below a directory that run --out
or import --out wrote. - is stdin.

The table shows medians over trials with their 95 % intervals, and percentiles of all
trials' I/Os together. csv has a line for each row and metric, in SI base units. Failures
and missing trials are listed on stderr.

Exit codes: 0 printed, 1 cannot read the file, 2 bad input.`,
		Example: `  storagebench report results/default/flush-cost/20261121-101500

  # for a spreadsheet
  storagebench report -o csv summary.json > summary.csv`,
		Args: arguments(1, "FILE or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "table", "json", "csv"); err != nil {
				return err
			}
			s, err := readSummary(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			remarks(cmd.ErrOrStderr(), s)
			return printSummary(cmd.OutOrStdout(), output, s)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table, json or csv")
	return cmd
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

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/compare"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/trial"
)

func newCompareCommand() *cobra.Command {
	output, limit := "", ""
	cmd := &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "Tell whether the second of two runs is worse than the first",
		Long: `Tell whether the second of two runs is worse than the first. Each is a file, a
directory, an s3:// address or a NAMESPACE/NAME in the cluster, as for report.

Rows are matched by target, workload and node; remaining rows by workload. For each
operation, compare looks at the rate (or bandwidth) and the p99, and at durations. The
interval of a ratio is recovered from the 95 % intervals of the two medians. A metric is a
regression if its whole interval is worse than --max-regression, no worse if no part of it
is, and inconclusive otherwise. It is also inconclusive with fewer than 6 trials on either
side, and if a workload of one name is configured differently. The verdict is inconclusive
if a row of the first run is missing in the second. What differs between the environments
is named.

Exit codes: 0 no worse, 1 failed, 2 bad input, 3 regression, 4 inconclusive.`,
		Example: `  storagebench compare before/summary.json after/summary.json

  # in a pipeline: fail on a regression of more than 10 %, accept "inconclusive"
  storagebench compare --max-regression 10% before after || [ $? -eq 4 ]`,
		Args: arguments(2, "FIRST and SECOND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "table", "json"); err != nil {
				return err
			}
			worst, err := plan.Percent(limit)
			if err != nil {
				return usage(fmt.Errorf("--max-regression %s: %w", limit, err))
			}
			return compareFiles(cmd.Context(), args[0], args[1], worst, output, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&limit, "max-regression", "5%", "worst acceptable change, in percent")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "output format: table or json")
	completeOutput(cmd, "table", "json")
	return cmd
}

func compareFiles(ctx context.Context, first, second string, worst float64, output string, stdin io.Reader, stdout io.Writer) error {
	a, err := readSummary(ctx, first, stdin)
	if err != nil {
		return err
	}
	b, err := readSummary(ctx, second, stdin)
	if err != nil {
		return err
	}
	c, err := compare.Summaries(a, b, worst)
	if err != nil {
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("cannot compare %s with %s: %v", first, second, err), Remedy: "compare runs of the same workloads", Err: err}
	}
	if output == "json" {
		err = printJSON(stdout, c)
	} else {
		err = c.Table(coloured(stdout))
	}
	if err != nil {
		return err
	}
	switch c.Verdict {
	case compare.Regression:
		return outcome(exitRegression)
	case compare.Inconclusive:
		return outcome(exitInconclusive)
	default:
		return nil
	}
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(raw(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

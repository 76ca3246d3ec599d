package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

type restoreFlags struct {
	dir    string
	output string
	forget bool
	host   bool
	permit string
}

func newRestoreCommand() *cobra.Command {
	f := restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Put back the settings of this node that a benchmark has changed and left",
		Long: `Put back what the journal of this node holds: the settings that a benchmark changed
and, because it was killed or the node went down, did not put back itself. Each is
written, read back, and only then taken off the journal. It can be run at any time, and
again.

A setting that somebody else has changed since is left as it is, and stays in the
journal; so does one that cannot be put back. As long as anything is in the journal, no
benchmark with tunables starts on this node. When you have looked at what is left,
--forget takes it off the journal, after another attempt to restore it. A damaged journal
is never used; --forget then moves it aside and keeps it.

The journal must belong to the user that runs this, and nobody else may be able to write it
or its directory: another one is refused, and nothing is written.

Exit codes: 0 everything is as it was, or there was nothing to do, 1 something could not
be restored, 2 bad input.`,
		Example: `  # a benchmark was killed on this node
  sudo storagebench restore

  # a setting was changed by somebody else, and is to stay as it is now
  sudo storagebench restore --forget`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.output != "table" && f.output != "json" {
				return usage(fmt.Errorf("-o %s: it is neither table nor json", f.output))
			}
			permit, err := f.permitted(cmd.Flags().Changed("permit"))
			if err != nil {
				return usage(err)
			}
			return restoreNode(cmd.Context(), f, permit, tunableHost(f.host), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "journal", journal.DefaultDir, "directory of this node's journal")
	flags.StringVarP(&f.output, "output", "o", "table", "what to print: table (a sentence for each setting) or json")
	flags.BoolVar(&f.forget, "forget", false, "take what cannot be restored off the journal, so that benchmarks can use this node")
	flags.StringVar(&f.permit, "permit", "", `the settings that may stand in the journal, as [{"name":…,"devices":[…],"datasets":[…]}]; with any other in it, nothing is restored`)
	registerHostPrograms(flags.BoolVar, &f.host)
	return cmd
}

// maxPermit bounds --permit: Linux passes no argument above 128 KiB.
const maxPermit = 128 << 10

// permitted reads --permit; nil: the flag was not given, and any setting may be restored.
func (f restoreFlags) permitted(given bool) ([]trial.Tunable, error) {
	if !given {
		return nil, nil
	}
	if len(f.permit) > maxPermit {
		return nil, fmt.Errorf("--permit: it has %d bytes; at most %d are read", len(f.permit), maxPermit)
	}
	permit := []trial.Tunable{}
	decoder := json.NewDecoder(strings.NewReader(f.permit))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&permit); err != nil {
		return nil, fmt.Errorf("--permit: %w; give it an array like [{\"name\":\"block.queue.nomerges\",\"devices\":[\"loop*\"]}]", err)
	}
	if decoder.More() || permit == nil {
		return nil, errors.New("--permit: expected one JSON array and nothing after it")
	}
	return permit, nil
}

func restoreNode(ctx context.Context, f restoreFlags, permit []trial.Tunable, host tunable.Host, stdout, stderr io.Writer) error {
	// A node that never had a journal is not given one.
	entries, err := journal.Pending(f.dir)
	if err == nil && len(entries) == 0 {
		return f.print(stdout, journal.Report{})
	}
	var j *journal.Journal
	if err == nil {
		j, err = journal.Open(journal.Options{Dir: f.dir, Host: host, Permit: permit})
	}
	if corrupt, ok := errors.AsType[*journal.CorruptError](err); ok {
		return f.corrupt(corrupt, err, stderr)
	}
	if err != nil {
		return err
	}
	// Once begun it is not stopped by a signal: what is half put back is worse.
	report := j.Restore(context.WithoutCancel(ctx))
	if f.forget && !report.Complete() {
		var forgotten journal.Report
		if forgotten, err = j.Forget(); err == nil {
			report = replaced(report, forgotten)
		}
	}
	if err := errors.Join(err, j.Close(), f.print(stdout, report)); err != nil {
		return err
	}
	if !report.Complete() {
		return errors.New("not everything could be restored: see above, and then storagebench restore --forget if it is to stay so")
	}
	return nil
}

// replaced is a report in which what was left is what was forgotten.
func replaced(report, forgotten journal.Report) journal.Report {
	var out journal.Report
	for _, item := range report.Items {
		if item.Outcome != journal.Foreign && item.Outcome != journal.Failed {
			out.Items = append(out.Items, item)
		}
	}
	out.Items = append(out.Items, forgotten.Items...)
	return out
}

// corrupt shows what can be read of a damaged journal, and moves it aside if asked.
func (f restoreFlags) corrupt(c *journal.CorruptError, err error, stderr io.Writer) error {
	for _, e := range c.Intact {
		fmt.Fprintf(stderr, "readable: %s was %s before %s set it to %s\n", e.Knob, e.Old, e.Owner, e.New)
	}
	if !f.forget {
		return err
	}
	to, err := journal.SetAside(f.dir, time.Now())
	if err == nil {
		fmt.Fprintf(stderr, "%v; it was kept as %s\n", c, to)
	}
	return err
}

func (f restoreFlags) print(stdout io.Writer, report journal.Report) error {
	if f.output == "json" {
		if report.Items == nil {
			report.Items = []journal.Item{}
		}
		return printJSON(stdout, report)
	}
	if len(report.Items) == 0 {
		fmt.Fprintln(stdout, "nothing to restore: the journal in "+f.dir+" is empty")
		return nil
	}
	for _, item := range report.Items {
		fmt.Fprintf(stdout, "%-10s %s\n", item.Outcome, item.Message)
	}
	fmt.Fprintln(stdout, report)
	return nil
}

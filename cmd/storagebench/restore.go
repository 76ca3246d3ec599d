package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
		Short: "Restore settings of this node that a benchmark left changed",
		Long: `Restore the settings in this node's journal: those that a benchmark changed and did not
restore itself, because it was killed or the node went down. Each is written, read back,
and only then removed from the journal. You can run this at any time, and repeatedly.

A setting that somebody else has changed since keeps its value and stays in the journal.
So does one that cannot be restored. No benchmark with tunables starts on this node until
the journal is empty. When you have looked at what is left, --forget tries once more to
restore it and then removes it from the journal. A damaged journal is never used; --forget
renames it and keeps it.

The journal must belong to the user that runs this command, and nobody else may have write
access to it or its directory. Otherwise the journal is refused, and no setting is changed.

Exit codes: 0 everything is restored, or there was nothing to do, 1 something could not
be restored, 2 bad input.`,
		Example: `  # a benchmark was killed on this node
  sudo storagebench restore

  # somebody else changed a setting, and it should stay as it is now
  sudo storagebench restore --forget`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(f.output, "table", "json"); err != nil {
				return err
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
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table (a sentence for each setting) or json")
	flags.BoolVar(&f.forget, "forget", false, "remove what cannot be restored from the journal, so that benchmarks can use this node")
	flags.StringVar(&f.permit, "permit", "", `settings that the journal may contain, as [{"name":…,"devices":[…],"datasets":[…]}]; if it contains another, nothing is restored (default: any)`)
	registerHostPrograms(flags.BoolVar, &f.host)
	return cmd
}

// maxPermit bounds --permit. Linux passes no argument above 128 KiB.
const maxPermit = 128 << 10

// permitted parses --permit; nil: the flag is not set, and any setting may be restored.
func (f restoreFlags) permitted(given bool) ([]trial.Tunable, error) {
	if !given {
		return nil, nil
	}
	if len(f.permit) > maxPermit {
		return nil, fmt.Errorf("--permit: it has %d bytes, the limit is %d", len(f.permit), maxPermit)
	}
	permit := []trial.Tunable{}
	decoder := json.NewDecoder(strings.NewReader(f.permit))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&permit); err != nil {
		return nil, fmt.Errorf("--permit: %w; use a JSON array like [{\"name\":\"block.queue.nomerges\",\"devices\":[\"loop*\"]}]", err)
	}
	if decoder.More() || permit == nil {
		return nil, errors.New("--permit: expected one JSON array and nothing after it")
	}
	return permit, nil
}

func restoreNode(ctx context.Context, f restoreFlags, permit []trial.Tunable, host tunable.Host, stdout, stderr io.Writer) error {
	entries, err := journal.Pending(f.dir)
	empty := err == nil && len(entries) == 0
	// Do not create a journal on a node that never had one.
	if _, missing := os.Lstat(f.dir); empty && errors.Is(missing, fs.ErrNotExist) {
		return f.print(stdout, journal.Report{})
	}
	var j *journal.Journal
	if err == nil {
		// Also an empty one: a worker between two of its trials holds the lock, and changes settings again.
		j, err = journal.Open(journal.Options{Dir: f.dir, Host: host, Permit: permit})
	}
	if empty && err != nil && !errors.Is(err, journal.ErrBusy) {
		return f.print(stdout, journal.Report{}) // a disk that cannot be written to has nothing to restore
	}
	if corrupt, ok := errors.AsType[*journal.CorruptError](err); ok {
		return f.corrupt(corrupt, err, stderr)
	}
	if err != nil {
		return err
	}
	// A signal does not stop a restore that has begun: half restored is worse.
	report := j.Restore(context.WithoutCancel(ctx))
	if f.forget && !report.Complete() {
		var forgotten journal.Report
		if forgotten, err = j.Forget(); err == nil {
			report = withForgotten(report, forgotten)
		}
	}
	if err := errors.Join(err, j.Close(), f.print(stdout, report)); err != nil {
		return err
	}
	if !report.Complete() {
		return errors.New("not everything could be restored, see above; to keep these settings as they are now, run: storagebench restore --forget")
	}
	return nil
}

// withForgotten returns the report with the items that were left replaced by
// the forgotten ones.
func withForgotten(report, forgotten journal.Report) journal.Report {
	var out journal.Report
	for _, item := range report.Items {
		if item.Outcome != journal.Foreign && item.Outcome != journal.Failed {
			out.Items = append(out.Items, item)
		}
	}
	out.Items = append(out.Items, forgotten.Items...)
	return out
}

// corrupt prints what is readable of a damaged journal, and with --forget moves it
// aside.
func (f restoreFlags) corrupt(c *journal.CorruptError, err error, stderr io.Writer) error {
	for _, e := range c.Intact {
		fmt.Fprintf(stderr, "readable: %s was %s before %s set it to %s\n", e.Knob, e.Old, e.Owner, e.New)
	}
	if !f.forget {
		return err
	}
	to, err := journal.SetAside(f.dir, time.Now())
	if err == nil {
		fmt.Fprintf(stderr, "%v; it is now %s\n", c, to)
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/powercut"
	"storagebench.io/storagebench/internal/trial"
)

func newFlushcheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flushcheck",
		Short: "Cut the power, and see whether the storage kept what it had acknowledged",
		Long: `Prove whether storage keeps what fdatasync has acknowledged. Only a power cut can.

On a machine that keeps its power, run "witness". On the machine under test, run "record", and
cut its power while it writes. When it has started again, run "verify" there with the witness's
log. Repeat that: "summary" says what several cuts show together.

docs/how-to/cut-the-power.md explains how, and what can mislead.

Exit codes: 0 done, 2 bad input; each step has its own.`,
		Example: `  # 1. on another machine
  storagebench flushcheck witness --listen :7007 -o cut-1.log

  # 2. on the machine under test; then pull its plug
  storagebench flushcheck record --witness other:7007 /mnt/disk/records

  # 3. on the machine under test, with the log
  storagebench flushcheck verify --log cut-1.log -o cut-1.json /mnt/disk/records

  # 4. after several cuts
  storagebench flushcheck summary cut-*.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFlushcheckRecord(), newFlushcheckWitness(), newFlushcheckVerify(), newFlushcheckSummary())
	return cmd
}

func newFlushcheckRecord() *cobra.Command {
	witness, block, records, buffered, overwrite := "", 4096, 1<<18, false, false
	cmd := &cobra.Command{
		Use:   "record --witness HOST:PORT PATH",
		Short: "Write records until the power is cut, and tell the witness about each",
		Long: `Write numbered records to PATH, each followed by fdatasync, and tell the witness about each
when fdatasync has returned. Cut the power while it writes.

PATH is a new file, or a block device, whose data is lost (--overwrite). It returns only when
something fails, or when all records are written before the power is cut.

Exit codes: 1 failed, 2 bad input.`,
		Example: `  # then pull the plug of this machine
  storagebench flushcheck record --witness other:7007 /mnt/disk/records`,
		Args: arguments(1, "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd, "witness"); err != nil {
				return err
			}
			run, err := powercut.NewRun(block, records)
			if err != nil {
				return usage(err)
			}
			connection, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(cmd.Context(), "tcp", witness)
			if err != nil {
				return fmt.Errorf("the witness cannot be reached: %w", err)
			}
			defer func() { _ = connection.Close() }()
			// A witness that does not read would hold up the end.
			defer context.AfterFunc(cmd.Context(), func() { _ = connection.Close() })()
			fmt.Fprintf(cmd.ErrOrStderr(), "writing up to %d records to %s; cut the power now\n", records, args[0])
			return powercut.Record(cmd.Context(), args[0], powercut.Options{Run: run, Buffered: buffered, Overwrite: overwrite}, connection)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&witness, "witness", "", "address of \"flushcheck witness\" on another machine")
	flags.IntVar(&block, "block", block, "size of a record in bytes, a power of two from 512 to 65536")
	flags.IntVar(&records, "records", records, "the most records to write")
	flags.BoolVar(&buffered, "buffered", false, "write a file through the page cache, if the file system has no direct I/O")
	flags.BoolVar(&overwrite, "overwrite", false, "permit a block device, and lose its data")
	return cmd
}

func newFlushcheckWitness() *cobra.Command {
	listen, output, silence := "", "", 30*time.Second
	cmd := &cobra.Command{
		Use:   "witness --listen ADDRESS -o FILE",
		Short: "Keep what a machine says that is writing records",
		Long: `Take one connection of "flushcheck record" and keep what it says in a new file. It ends when
the connection ends, or when nothing has come for the time of --silence.

Anybody who can reach the address can be that connection: use a network of your own.

Exit codes: 0 done, 1 failed, 2 bad input.`,
		Example: `  storagebench flushcheck witness --listen :7007 -o cut-1.log`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "listen", "output"); err != nil {
				return err
			}
			if silence <= 0 {
				return usage(fmt.Errorf("--silence is %s; it must be more than 0", silence))
			}
			return flushcheckWitness(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), listen, output, silence)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "", "address to listen on, for example :7007")
	flags.StringVarP(&output, "output", "o", "", "log to write, a new file")
	flags.DurationVar(&silence, "silence", silence, "time without a line after which the machine has lost its power")
	return cmd
}

func flushcheckWitness(ctx context.Context, stdout, stderr io.Writer, listen, output string, silence time.Duration) (err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	file, err := os.OpenFile(filepath.Clean(output), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Sync(), file.Close()) }()
	fmt.Fprintf(stderr, "waiting on %s\n", listener.Addr())
	log, err := powercut.Listen(ctx, listener, silence, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d records were acknowledged; see %s\n", log.Synced, output)
	return nil
}

func newFlushcheckVerify() *cobra.Command {
	logFile, output, missing := "", "", false
	cmd := &cobra.Command{
		Use:   "verify --log FILE PATH",
		Short: "Look after a power cut whether the acknowledged records are there",
		Long: `Read the records that "flushcheck record" wrote to PATH, and compare them with the witness's
log.

Exit codes: 0 nothing is lost, 1 failed, 2 bad input, 3 acknowledged records are lost, 4 the cut
shows nothing.`,
		Example: `  storagebench flushcheck verify --log cut-1.log -o cut-1.json /mnt/disk/records`,
		Args:    arguments(1, "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := required(cmd, "log"); err != nil {
				return err
			}
			outcome, err := flushcheckVerify(logFile, args[0], missing)
			if err != nil {
				return err
			}
			if output != "" {
				data, err := json.MarshalIndent(outcome, "", "  ")
				if err == nil {
					err = os.WriteFile(output, append(data, '\n'), 0o600)
				}
				if err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", outcome.Verdict, outcome.Sentence())
			return cutOutcome(outcome.Verdict)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&logFile, "log", "", "log of the witness")
	flags.StringVarP(&output, "output", "o", "", "file to write the outcome to, for summary")
	flags.BoolVar(&missing, "missing-is-lost", false, "take a file that does not exist, and records that cannot be read (EIO), as lost")
	return cmd
}

func flushcheckVerify(logFile, path string, missing bool) (powercut.Outcome, error) {
	text, err := os.Open(filepath.Clean(logFile))
	if err != nil {
		return powercut.Outcome{}, err
	}
	defer func() { _ = text.Close() }()
	log, err := powercut.ReadLog(text)
	if err != nil {
		return powercut.Outcome{}, &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("%s: %v", logFile, err), Remedy: "give the log of flushcheck witness", Err: err}
	}
	loss := powercut.Damaged
	if missing {
		loss = powercut.Unreadable
	}
	file, err := os.Open(filepath.Clean(path))
	if err != nil && (loss(err) || missing && errors.Is(err, os.ErrNotExist)) {
		found, err := powercut.ParseFound("none", log.Run)
		return powercut.Judge(log, found), err
	}
	if errors.Is(err, os.ErrNotExist) {
		return powercut.Outcome{}, &trial.Failure{
			Class: reason.InvalidSpec, Message: path + " does not exist",
			Remedy: "if the file system is mounted and the file was there before the cut, the cut has lost it: --missing-is-lost", Err: err,
		}
	}
	if err != nil {
		return powercut.Outcome{}, unreadable(err)
	}
	defer func() { _ = file.Close() }()
	found, err := powercut.Scan(file, log.Run, log.Wrote, loss)
	if err != nil {
		return powercut.Outcome{}, unreadable(fmt.Errorf("%s: %w", path, err))
	}
	return powercut.Judge(log, found), nil
}

// unreadable adds the remedy to a record that cannot be read.
func unreadable(err error) error {
	if !powercut.Unreadable(err) {
		return err
	}
	return &trial.Failure{
		Class: reason.InvalidSpec, Message: err.Error(),
		Remedy: "look in the kernel's log (dmesg). If the disk is there, and the file system says that its checksums or structures are wrong, the cut has lost these records: count them with --missing-is-lost", Err: err,
	}
}

func newFlushcheckSummary() *cobra.Command {
	return &cobra.Command{
		Use:   "summary FILE…",
		Short: "Say what several cuts show together",
		Long: `Add up what "flushcheck verify -o" wrote about cuts of the same storage.

Exit codes: 0 no cut lost anything, 1 failed, 2 bad input, 3 a cut lost acknowledged records, 4
the cuts show nothing.`,
		Example: `  storagebench flushcheck summary cut-*.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("expected at least 1 argument (FILE), got 0"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var outcomes []powercut.Outcome
			from := map[string]string{}
			for _, name := range args {
				outcome, err := readOutcome(name)
				if err != nil {
					return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("%s: %v", name, err), Remedy: "give files that flushcheck verify -o has written", Err: err}
				}
				if other, twice := from[outcome.Run]; twice {
					return usage(fmt.Errorf("%s and %s are about the same cut", other, name))
				}
				from[outcome.Run] = name
				outcomes = append(outcomes, outcome)
			}
			summary := powercut.Summarise(outcomes)
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", summary.Verdict, summary.Sentence())
			return cutOutcome(summary.Verdict)
		},
	}
}

func readOutcome(name string) (powercut.Outcome, error) {
	const most = 64 << 10
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return powercut.Outcome{}, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return powercut.Outcome{}, err
	}
	return powercut.ParseOutcome(data)
}

// cutOutcome is the exit code of a verdict.
func cutOutcome(v powercut.Verdict) error {
	switch v {
	case powercut.Lies:
		return outcome(exitRegression)
	case powercut.NotTried:
		return outcome(exitInconclusive)
	default:
		return nil
	}
}

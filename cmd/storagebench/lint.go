package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	fioengine "storagebench.io/storagebench/internal/workload/fio"
)

type lintFlags struct {
	mode, command, output string
	variables, includes   []string
}

// lintDocument is what lint prints for a program.
type lintDocument struct {
	Problems []lintFinding `json:"problems"`
	Changes  []lintFinding `json:"changes"`
}

type lintFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

func newLintCommand() *cobra.Command {
	f := lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "Say all that is wrong with a fio job file, a StorageBenchmark or a schedule",
		Long: `Say all that is wrong with a fio job file, a command line of fio, a StorageBenchmark or its
schedule, at once and with line numbers, and all that storagebench would not do as it is
written. It needs no cluster and runs nothing.

A file that ends with .yaml, .yml or .json is a StorageBenchmark, or a schedule, whose times are
checked and then its benchmark. Each workload is checked at every point of its sweep; if
nothing is wrong with them, the rest is checked as plan does, up to the first mistake. Files that
a job file includes are found beside it.

Exit codes: 0 nothing is wrong (there may be changes), 1 failed, 2 bad input.`,
		Example: `  # what would storagebench do otherwise than this job file says?
  storagebench lint randrw.fio

  # with a variable, for a block device
  storagebench lint --variable SIZE=4g --mode Block device.fio

  # a command line
  storagebench lint --command 'fio --name=a --rw=randread --size=1g --runtime=30'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return lint(cmd.Context(), f, args, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", string(trial.Filesystem), "what a job file's target is: Filesystem or Block")
	flags.StringVar(&f.command, "command", "", "a command line of fio instead of a file")
	flags.StringArrayVar(&f.variables, "variable", nil, "NAME=VALUE: what ${NAME} stands for; may be repeated")
	flags.StringArrayVar(&f.includes, "include", nil, "a file that the job file includes; may be repeated")
	flags.StringVarP(&f.output, "output", "o", "text", "output format: text or json")
	return cmd
}

func lint(ctx context.Context, f lintFlags, args []string, w io.Writer) error {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	if modes := []string{string(trial.Filesystem), string(trial.Block)}; !slices.Contains(modes, f.mode) {
		return usage(fmt.Errorf("--mode: there is no mode %q: %s", f.mode, suggest.Remedy(f.mode, modes)))
	}
	if (len(args) == 1) == (f.command != "") {
		return usage(errors.New("expected one FILE, or --command"))
	}
	d := &lintDocument{Problems: []lintFinding{}, Changes: []lintFinding{}}
	var err error
	if len(args) == 1 && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(args[0])) {
		err = d.benchmark(ctx, args[0])
	} else {
		err = d.jobFile(f, args)
	}
	if err != nil {
		return err
	}
	if f.output == "json" {
		err = printJSON(w, d)
	} else {
		d.print(w)
	}
	if err == nil && len(d.Problems) > 0 {
		return outcome(exitInvalid)
	}
	return err
}

func (d *lintDocument) print(w io.Writer) {
	show := func(kind string, f lintFinding) {
		where := f.File
		if f.Line > 0 {
			where = fmt.Sprintf("%s:%d", f.File, f.Line)
		} else if f.Field != "" {
			where += ": " + f.Field
		}
		text := f.Message
		if f.Remedy != "" {
			text += ": " + f.Remedy
		}
		fmt.Fprintf(w, "%s: %s: %s\n", where, kind, oneLine(text))
	}
	for _, f := range d.Problems {
		show("error", f)
	}
	for _, f := range d.Changes {
		show("changed", f)
	}
	if len(d.Problems)+len(d.Changes) == 0 {
		fmt.Fprintln(w, "nothing is wrong, and nothing is changed")
	}
}

// add adds what is found of a workload. name stands for its own text, prefix for its field.
func (d *lintDocument) add(name, prefix string, problems, changes []fioengine.Finding) {
	convert := func(into *[]lintFinding, found []fioengine.Finding) {
		for _, f := range found {
			file := name
			if f.File != "" {
				file = f.File
			}
			finding := lintFinding{file, f.Line, prefix + f.Field, f.Message, f.Remedy}
			if !slices.Contains(*into, finding) {
				*into = append(*into, finding)
			}
		}
	}
	convert(&d.Problems, problems)
	convert(&d.Changes, changes)
}

// includeLine names a file that a job file includes.
var includeLine = regexp.MustCompile(`(?m)^[ \t]*include[ \t=]+(\S+)`)

func (d *lintDocument) jobFile(f lintFlags, args []string) error {
	name, text, directory := "command", f.command, "."
	config := map[string]any{"commandLine": text}
	if len(args) == 1 {
		content, err := readLimited(args[0])
		if err != nil {
			return usage(err)
		}
		name, text, directory = args[0], content, filepath.Dir(args[0])
		config = map[string]any{"jobFile": text}
	}
	include := map[string]string{}
	for _, file := range f.includes {
		content, err := readLimited(file)
		if err != nil {
			return usage(err)
		}
		include[filepath.Base(file)] = content
	}
	for _, found := range includeLine.FindAllStringSubmatch(text, 32) {
		base := filepath.Base(found[1])
		if content, err := readLimited(filepath.Join(directory, base)); err == nil && include[base] == "" {
			include[base] = content
		}
	}
	if len(include) > 0 {
		config["include"] = include
	}
	variables := map[string]string{}
	for _, v := range f.variables {
		key, value, ok := strings.Cut(v, "=")
		if !ok || key == "" {
			return usage(fmt.Errorf("--variable %q does not have the form NAME=VALUE", v))
		}
		variables[key] = value
	}
	if len(variables) > 0 {
		config["variables"] = variables
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	problems, changes := fioengine.Lint(raw, trial.Mode(f.mode), workload.Machine{CPUs: runtime.NumCPU()})
	d.add(name, "", problems, changes)
	return nil
}

// maxJobFile bounds the files that lint reads. What the API bounds is said as a problem.
const maxJobFile = 1 << 20

func readLimited(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(in, maxJobFile+1))
	if err == nil && len(content) > maxJobFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxJobFile)
	}
	return string(content), err
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/importer"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

type importFlags struct {
	importer.Options
	out    string
	output string
	link   string
	memory string
}

func newImportCommand() *cobra.Command {
	f := importFlags{}
	tools := strings.Join(importer.Tools(), ", ")
	cmd := &cobra.Command{
		Use:   "import --tool TOOL FILE...",
		Short: "Convert another tool's output into a result document",
		Long: `Convert the output of ` + tools + ` into
a summary that report and compare can read. Several FILEs are repeats of the same
measurement if titles, machines and settings are equal, as far as the output shows them:
with 6 or more, medians have intervals. A file with several runs, or several
fio jobs, becomes several rows, which headings in the file name. - is stdin.

The document records that it was imported: the machine, its devices and its caches are
unknown. With --link and --memory you tell what verdicts can be judged from: what the way
to the storage carries at most, and what the machine's memory holds.

For fio, import reads the output of --output-format=json+, or of json, which has no
histograms. --target and --workload name the rows. By default the target is the name in
the output or the name of the files, and the workload is the tool.

Exit codes: 0 imported, 1 cannot write the document, 2 bad input.`,
		Example: `  fio --output-format=json+ --output=nvme-1.json job.fio
  storagebench import --tool fio nvme-*.json

  # reads of 1 GiB/s over a link of 425 MB/s are those of a cache
  storagebench import --tool iozone --link 425M --memory 12Gi iozone.txt

  # two file systems, for compare
  storagebench import --tool postmark --target disk -o json zfs.txt > zfs.json
  storagebench import --tool postmark --target disk -o json ufs.txt > ufs.json
  storagebench compare zfs.json ufs.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFiles(cmd.Context(), f, args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Tool, "tool", "", "tool whose output the files contain: "+tools)
	flags.StringVar(&f.Target, "target", "", "name of the target (default: from the output or the file names)")
	flags.StringVar(&f.Workload, "workload", "", "name of the workload (default: the tool)")
	flags.StringVar(&f.Node, "node", "", "name of the node (default: unknown)")
	flags.StringVar(&f.link, "link", "", "bytes per second that the way to the storage carries at most, such as 425M (default: unknown)")
	flags.StringVar(&f.memory, "memory", "", "memory of the machine, such as 12Gi (default: unknown)")
	flags.StringVar(&f.out, "out", "", "directory for the document, which is stored as run would")
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table, json or csv")
	return cmd
}

// maxImport bounds each file. fio's json+ has about 100 KB for each clone.
const maxImport = 256 << 20

func importFiles(ctx context.Context, f importFlags, paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(len(paths)); err != nil {
		return err
	}
	for flag, to := range map[string]struct {
		text  string
		value *float64
	}{"--link": {f.link, &f.LinkBytesPerSecond}, "--memory": {f.memory, &f.MemoryBytes}} {
		if to.text == "" {
			continue
		}
		q, err := resource.ParseQuantity(to.text)
		if err != nil || q.Sign() <= 0 {
			return badInput(flag, fmt.Sprintf("%q is not a positive number of bytes", to.text), "write it like 425M or 12Gi")
		}
		*to.value = q.AsApproximateFloat64()
	}
	var files []importer.File
	for _, path := range paths {
		file, err := readImport(path, stdin)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	s, err := importer.Summary(files, f.Options)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := storeImport(ctx, f.out, s, stderr); err != nil {
			return err
		}
	}
	if f.output == "table" {
		remarks(stderr, s)
	}
	return printSummary(stdout, f.output, s)
}

func (f importFlags) check(files int) error {
	if err := checkOutput(f.output, "table", "json", "csv"); err != nil {
		return err
	}
	tools := importer.Tools()
	switch {
	case f.Tool == "":
		return &trial.Failure{Class: reason.InvalidSpec, Message: "--tool is missing", Remedy: suggest.Remedy("", tools)}
	case !slices.Contains(tools, f.Tool):
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("--tool: there is no importer for %q", f.Tool), Remedy: suggest.Remedy(f.Tool, tools)}
	case files == 0:
		return usage(fmt.Errorf("expected at least 1 argument (FILE: %s), got 0", importer.Wants(f.Tool)))
	}
	return nil
}

func readImport(path string, stdin io.Reader) (importer.File, error) {
	if path == "-" {
		content, err := io.ReadAll(io.LimitReader(stdin, maxImport+1))
		if err == nil && len(content) > maxImport {
			err = badInput("stdin", fmt.Sprintf("the input is larger than the limit of %d MiB", maxImport>>20), "split it into several files")
		}
		return importer.File{Name: "stdin", Content: content, Modified: time.Now()}, err
	}
	content, err := readBounded(path, maxImport)
	if err != nil {
		return importer.File{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return importer.File{}, usage(err)
	}
	return importer.File{Name: path, Content: content, Modified: info.ModTime()}, nil
}

// storeImport writes the document where a run of that name would write it.
func storeImport(ctx context.Context, out string, s result.Summary, stderr io.Writer) error {
	document, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	store, err := dir.New(out)
	if err != nil {
		return err
	}
	key := trial.Keys{Namespace: s.Benchmark.Namespace, Name: s.Benchmark.Name, Run: s.Run}.Summary()
	if err := store.Put(ctx, key, append(document, '\n')); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stderr, "written to", filepath.Join(out, filepath.FromSlash(key)))
	return err
}

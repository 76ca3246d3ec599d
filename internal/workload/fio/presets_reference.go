package fio

import (
	"fmt"
	"io"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

//go:generate go run ../../../hack/fio-options -presets ../../../docs/reference/fio-presets.md

// WritePresets writes docs/reference/fio-presets.md from the presets.
func WritePresets(w io.Writer) error {
	all, err := presets()
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	b.WriteString(`# fio presets

<!-- Generated from internal/workload/fio/presets by "go generate ./internal/workload/fio". -->

Job files for what storage is often qualified for. ` + "`fio: {preset: etcd}`" + ` in a workload is the
same as the job file below in ` + "`fio.jobFile`" + `, with one difference: on a block device, options
that are for files (` + "`filename`, `overwrite`, `fallocate`" + `) are left out. To change anything, copy the text
into ` + "`fio.jobFile`" + ` and change it there.

Each is a model: it asks one question that the real thing asks of its storage, and stands
for nothing else. The sizes are small, so that a preset fits on a small volume; storage with
a cache of that size answers from it.

| Preset | What it asks | Targets | Needs | A trial takes |
|---|---|---|---|---|
`)
	for _, p := range all {
		jobs, err := resolve(config{Preset: p.name}, p.modes[0], parametersName)
		if err != nil {
			return fmt.Errorf("fio: preset %s: %w", p.name, err)
		}
		e := estimate(jobs)
		fmt.Fprintf(b, "| [%s](#%[1]s) | %s | %s | %s | %s |\n", p.name, p.question, p.targets(), workload.Human(e.Bytes), lasts(e.Duration))
	}
	for _, p := range all {
		p.write(b)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func (p preset) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s\n\n", p.name, p.question, p.about)
	b.WriteString("| Look at | which is |\n|---|---|\n")
	for _, l := range p.lookAt {
		what := "`" + l.metric + "`"
		if l.job != "" {
			what += " of part `" + l.job + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", what, l.why)
	}
	if p.hasParts() {
		b.WriteString("\nEach job is a part, with a row of its own.\n")
	}
	fmt.Fprintf(b, "\n```ini\n%s```\n\n", p.body())
	for _, s := range p.sources {
		fmt.Fprintf(b, "- <%s>\n", s)
	}
}

func (p preset) hasParts() bool {
	for _, l := range p.lookAt {
		if l.job != "" {
			return true
		}
	}
	return false
}

// body is the job file without the comment at its beginning.
func (p preset) body() string {
	return p.text[strings.Index(p.text, "\n[")+1:]
}

func (p preset) targets() string {
	names := make([]string, 0, len(p.modes))
	for _, mode := range p.modes {
		names = append(names, string(mode))
	}
	return strings.Join(names, ", ")
}

func lasts(d time.Duration) string {
	if d == 0 {
		return "as long as it needs"
	}
	return d.String()
}

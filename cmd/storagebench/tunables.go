package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/tunable"
)

type tunablesFlags struct {
	target string
	output string
	host   bool
}

func newTunablesCommand() *cobra.Command {
	f := tunablesFlags{}
	cmd := &cobra.Command{
		Use:   "tunables [NAME]",
		Short: "List the settings of a node that a benchmark may change, with their current values",
		Long: `List the settings that the variants of a benchmark may change, with their current values
on this node, and on the disks and the ZFS dataset under --target. n/a means that the node,
disk or dataset does not have the setting. With a NAME, describe one setting in detail.

This changes nothing. docs/reference/tunables.md has the same list, with the risks.

Exit codes: 0 done, 1 failed, 2 bad input.`,
		Example: `  # what can a benchmark of this directory change, and what are the values now?
  storagebench tunables --target /tank/bench

  # what are the risks of a setting?
  storagebench tunables block.queue.write_cache --target /mnt/fast`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("expected at most 1 argument (NAME), got %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(f.output, "table", "json"); err != nil {
				return err
			}
			catalogue := tunable.Catalogue()
			if len(args) == 1 {
				t, err := tunable.Find(args[0])
				if err != nil {
					return err
				}
				catalogue = []tunable.Tunable{t}
			}
			return printTunables(cmd.Context(), f, catalogue, len(args) == 1, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "", "directory or block device whose disks and dataset to show (default: none)")
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table or json")
	registerHostPrograms(flags.BoolVar, &f.host)
	return cmd
}

// registerHostPrograms adds the flag of verbs that run zfs, zpool, hdparm and
// nvme.
func registerHostPrograms(boolVar func(p *bool, name string, value bool, usage string), p *bool) {
	boolVar(p, "host-programs", false, "run zfs, zpool, hdparm and nvme in the mount namespace of process 1 (nsenter); for a container that shares the host's process IDs")
}

func tunableHost(programsOfHost bool) tunable.Host {
	if programsOfHost {
		return tunable.Host{Prefix: tunable.InHostMounts()}
	}
	return tunable.Host{}
}

// tunableDocument is the JSON of a tunable.
type tunableDocument struct {
	Name     string           `json:"name"`
	Scope    tunable.Scope    `json:"scope"`
	About    string           `json:"about"`
	Values   string           `json:"values"`
	Where    string           `json:"where"`
	Survives tunable.Survival `json:"survivesReboot"`
	// Restoring says what is special about restoring it.
	Restoring string          `json:"restoring,omitempty"`
	Risks     []tunable.Risky `json:"risks,omitempty"`
	// Present has a value for each disk or dataset, or one for the node.
	Present []presentValue `json:"present"`
	// Note says why there is no current value.
	Note string `json:"note,omitempty"`
}

type presentValue struct {
	On    string `json:"on,omitempty"`
	Value string `json:"value"`
	// Source of the value, as in tunable.State.
	Source string `json:"source,omitempty"`
}

func printTunables(ctx context.Context, f tunablesFlags, catalogue []tunable.Tunable, details bool, stdout io.Writer) error {
	host := tunableHost(f.host)
	place, err := host.Place(ctx, f.target)
	if err != nil {
		return usage(fmt.Errorf("--target %s: %w", f.target, err))
	}
	var documents []tunableDocument
	for _, t := range catalogue {
		documents = append(documents, documentOf(ctx, host, place, t))
	}
	switch {
	case f.output == "json":
		return printJSON(stdout, documents)
	case details:
		return printDetails(stdout, documents[0])
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSCOPE\tRISK\tVALUES\tNOW")
	for i, d := range documents {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, d.Scope, catalogue[i].Worst(), shorten(unquoted(d.Values)), d.now())
	}
	return w.Flush()
}

func documentOf(ctx context.Context, host tunable.Host, place tunable.Place, t tunable.Tunable) tunableDocument {
	d := tunableDocument{
		Name: t.Name, Scope: t.Scope, About: t.About, Values: t.Values(), Where: t.Where, Survives: t.Survives,
		Restoring: t.Restoring, Risks: t.Risks(), Present: []presentValue{},
	}
	knobs := t.Knobs(place)
	if len(knobs) == 0 {
		d.Note = noKnobs(t, place)
	}
	for _, k := range knobs {
		s, err := host.Read(ctx, k)
		if err != nil {
			d.Note = readNote(err)
			continue
		}
		p := presentValue{Value: s.Value, Source: s.Source}
		switch {
		case k.Device != nil:
			p.On = k.Device.Name
		case k.Dataset != nil:
			p.On = k.Dataset.Name
		}
		d.Present = append(d.Present, p)
	}
	return d
}

func readNote(err error) string {
	if _, missing := errors.AsType[*tunable.MissingError](err); missing || !errors.Is(err, tunable.ErrAbsent) {
		return err.Error()
	}
	return "there is no such setting here"
}

func noKnobs(t tunable.Tunable, p tunable.Place) string {
	switch {
	case p.Path == "" && t.Scope == tunable.Dataset:
		return "unknown dataset: set --target"
	case p.Path == "":
		return "unknown disks: set --target"
	case t.Scope == tunable.Dataset && p.DatasetNote != "":
		return p.DatasetNote
	case t.Scope == tunable.Dataset:
		return "the target is not on ZFS"
	case len(p.Devices) > 0:
		return "a disk of the target has no serial number, so it could not be recognised later"
	default:
		return p.DeviceNote
	}
}

// now returns the current value for a column of a table.
func (d tunableDocument) now() string {
	if len(d.Present) == 0 {
		return "n/a"
	}
	var parts []string
	for _, p := range d.Present {
		part := p.Value
		if p.On != "" {
			part = p.On + ": " + part
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func unquoted(s string) string { return strings.ReplaceAll(s, "`", "") }

// shorten keeps a long list of values from making the table unreadable.
func shorten(s string) string {
	const most = 48
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndex(s[:most], " ")] + " …"
}

func printDetails(stdout io.Writer, d tunableDocument) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Name:\t%s\n", d.Name)
	fmt.Fprintf(w, "About:\t%s\n", d.About)
	fmt.Fprintf(w, "Scope:\t%s\n", d.Scope)
	fmt.Fprintf(w, "Values:\t%s\n", unquoted(d.Values))
	fmt.Fprintf(w, "Where:\t%s\n", d.Where)
	fmt.Fprintf(w, "Survives a reboot:\t%s\n", d.Survives)
	for _, r := range d.Risks {
		values := "any value"
		if len(r.Values) > 0 {
			values = strings.Join(r.Values, ", ")
		}
		fmt.Fprintf(w, "Risk:\t%s with %s: %s\n", r.Risk, values, r.Reason)
	}
	if len(d.Risks) == 0 {
		fmt.Fprintf(w, "Risk:\t%s\n", tunable.None)
	}
	if d.Restoring != "" {
		fmt.Fprintf(w, "Restoring:\t%s\n", d.Restoring)
	}
	for _, p := range d.Present {
		line := tunable.State{Value: p.Value, Source: p.Source}.String()
		if p.On != "" {
			line = p.On + ": " + line
		}
		fmt.Fprintf(w, "Now:\t%s\n", line)
	}
	if d.Note != "" {
		fmt.Fprintf(w, "Now:\tn/a: %s\n", d.Note)
	}
	return w.Flush()
}

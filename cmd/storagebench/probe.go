package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func newProbeCommand() *cobra.Command {
	output, programsOfHost := "", false
	cmd := &cobra.Command{
		Use:   "probe PATH…",
		Short: "Show what is below a directory or device, down to the disks",
		Long: `Show the layers of storage below each PATH, a directory, a file or a block device: file
systems, partitions, RAID, loop devices and what holds their files, down to the disks. It
shows which devices have a volatile cache, whether the kernel flushes it, and which discard,
and says what cannot be seen from here.

This changes nothing. docs/reference/probe.md explains the columns.

Exit codes: 0 done, 1 failed, 2 bad input.`,
		Example: `  # what is this directory made of?
  storagebench probe /mnt/fast

  # which disks are below a logical volume?
  storagebench probe -o json /dev/vg/data`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("expected at least 1 argument (PATH), got 0"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "tree", "json"); err != nil {
				return err
			}
			return probe(cmd.OutOrStdout(), poolSystem(cmd.Context(), programsOfHost), output, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "tree", "output format: tree or json")
	registerHostPrograms(flags.BoolVar, &programsOfHost)
	return cmd
}

// poolSystem is this machine, whose zpool is asked for the disks of ZFS pools.
func poolSystem(ctx context.Context, programsOfHost bool) device.System {
	host := tunableHost(programsOfHost)
	return device.System{Pool: func(pool string) (string, error) { return host.PoolStatus(ctx, pool) }}
}

// probeDocument is the JSON of one path.
type probeDocument struct {
	Path string `json:"path"`
	// Layers as in the documents of results, the path's own first.
	Layers []result.Layer `json:"layers"`
	// Copies of each block that the disks write.
	Copies int `json:"copies"`
	// InMemory is the layer that keeps all data in this machine's memory, if one does.
	InMemory string `json:"inMemory,omitempty"`
	// Below is what becomes of direct I/O below the first layer, and Why, unless it passes all
	// page caches.
	Below result.DirectMode `json:"directIOBelow"`
	Why   string            `json:"why,omitempty"`
}

// probe prints what is below each path. It also prints the others if one fails.
func probe(w io.Writer, system device.System, output string, paths []string) error {
	documents := []probeDocument{}
	var failed []error
	for _, path := range paths {
		d, err := probePath(system, path)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		documents = append(documents, d)
	}
	if output == "json" {
		return errors.Join(append(failed, printJSON(w, documents))...)
	}
	for i, d := range documents {
		if i > 0 {
			fmt.Fprintln(w)
		}
		failed = append(failed, printTree(w, d))
	}
	return errors.Join(failed...)
}

func probePath(system device.System, path string) (probeDocument, error) {
	const remedy = "give a directory, a file or a block device"
	refuse := func(message string, err error) (probeDocument, error) {
		return probeDocument{}, &trial.Failure{Class: reason.InvalidSpec, Message: message, Remedy: remedy, Err: err}
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	var stat unix.Stat_t
	if err == nil {
		err = unix.Stat(real, &stat)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuse(path+" does not exist", err)
	case err != nil:
		return probeDocument{}, fmt.Errorf("%s: %w", path, err)
	}
	d := probeDocument{Path: path}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFBLK:
		d.Layers, err = system.DeviceLayers(int(unix.Major(stat.Rdev)), int(unix.Minor(stat.Rdev)))
	case unix.S_IFREG, unix.S_IFDIR:
		d.Layers, err = system.Layers(real)
	default:
		return refuse(path+" holds no data", nil)
	}
	if err != nil {
		return probeDocument{}, fmt.Errorf("%s: %w", path, err)
	}
	if own := d.Layers[0]; own.Kind == result.UnknownLayer && strings.HasPrefix(own.ID, "fs:") {
		return refuse(fmt.Sprintf("%s is on a file system of type %s, and storagebench does not know what that is on", path, own.Type), nil)
	}
	d.Copies = result.Copies(d.Layers)
	if cause, ok := result.InMemory(d.Layers); ok {
		d.InMemory = cause.ID
	}
	d.Below, d.Why = device.DirectBelow(d.Layers)
	return d, nil
}

func printTree(w io.Writer, d probeDocument) error {
	fmt.Fprintln(w, oneLine(d.Path))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LAYER\tTYPE\tSIZE\tCACHE\tFLUSH\tDISCARD\tABOUT")
	t := tree{out: table, layers: map[string]result.Layer{}, printed: map[string]bool{}}
	for _, l := range d.Layers {
		t.layers[l.ID] = l
	}
	t.print(d.Layers[0].ID, "", "")
	if err := table.Flush(); err != nil {
		return err
	}
	if d.InMemory != "" {
		fmt.Fprintf(w, "All data is in the memory of this machine: %s.\n", oneLine(d.InMemory))
	}
	for _, p := range result.PartsInMemory(d.Layers) {
		fmt.Fprintf(w, "%s is in the memory of this machine: %s.\n", map[result.MemoryPart]string{
			result.DataPart: "A part of the data", result.LogPart: "The log", result.CopyPart: "A copy of the data, or a cache",
		}[p.Of], oneLine(p.Layer.ID))
	}
	if d.Copies > 1 {
		fmt.Fprintf(w, "The disks write %d copies of each block.\n", d.Copies)
	}
	switch {
	case d.Below == result.DirectUnknown:
		fmt.Fprintf(w, "It is not known whether direct I/O passes all page caches: %s.\n", oneLine(d.Why))
	case d.Why != "":
		fmt.Fprintf(w, "Direct I/O does not pass all page caches: %s.\n", oneLine(d.Why))
	}
	for _, l := range d.Layers {
		if l.Note != "" {
			fmt.Fprintf(w, "%s: %s.\n", oneLine(l.ID), oneLine(l.Note))
		}
	}
	return nil
}

// tree prints layers with lines that lead to those below. One that is below several others is
// followed only once.
type tree struct {
	out     io.Writer
	layers  map[string]result.Layer
	printed map[string]bool
}

func (t *tree) print(id, branch, indent string) {
	l := t.layers[id]
	if t.printed[id] {
		fmt.Fprintf(t.out, "%s%s\t\t\t\t\t\tsee above\n", branch, oneLine(id))
		return
	}
	t.printed[id] = true
	size := ""
	if l.SizeBytes > 0 {
		size = report.Bytes(float64(l.SizeBytes))
	}
	fmt.Fprintf(t.out, "%s%s\t%s\t%s\t%s\t%s\t%s\t%s\n", branch, oneLine(id), l.Type, size, l.WriteCache, flushes(l), discards(l), about(l))
	for i, below := range l.Below {
		if i == len(l.Below)-1 {
			t.print(below, indent+"└─", indent+"  ")
		} else {
			t.print(below, indent+"├─", indent+"│ ")
		}
	}
}

// flushes says whether the kernel flushes a device's cache.
func flushes(l result.Layer) string {
	switch {
	case l.WriteCache == "write through" && l.DeviceCache == "write back":
		return "NO"
	case l.WriteCache == "write through":
		return "not needed"
	case l.WriteCache == "":
		return ""
	case l.FUA != nil && *l.FUA:
		return "yes, and FUA"
	default:
		return "yes"
	}
}

func discards(l result.Layer) string {
	switch {
	case l.DiscardMaxBytes == nil:
		return ""
	case *l.DiscardMaxBytes == 0:
		return "no"
	default:
		return "yes"
	}
}

// about returns what else a line says of a layer.
func about(l result.Layer) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if l.Model != "" {
		add("%s", l.Model)
	}
	if l.Rotational != nil && *l.Rotational && l.Kind == result.DiskLayer {
		add("spinning")
	}
	switch {
	case l.Kind == result.LoopLayer:
		if l.Source != "" {
			add("file %s", l.Source)
		}
		if l.DirectIO != nil {
			add("%s", map[bool]string{true: "direct I/O", false: "through the page cache"}[*l.DirectIO])
		}
	case l.Kind != result.UnknownLayer && l.Source != "" && l.Source != "none" && l.Source != l.Type:
		add("%s", l.Source)
	}
	if l.InMemory {
		add("in memory")
	}
	if l.Copies > 1 {
		add("%d copies", l.Copies)
	}
	if l.LinkBytesPerSecond > 0 {
		add("link %s", report.BytesPerSecond(l.LinkBytesPerSecond))
	}
	if l.WriteCache == "write through" && l.DeviceCache == "write back" {
		add("the device itself says write back")
	}
	return oneLine(strings.Join(parts, ", "))
}

// oneLine keeps a name from breaking the table, or the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

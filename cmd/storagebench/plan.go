package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/environment"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/engines"
)

type planFlags struct {
	file, output string
	targets      []string
	nodes        int
	facts        map[string]*string // sizes of flags, by name
}

// factFlags are flags with a size.
var factFlags = []struct{ name, about string }{
	{"memory", "memory of a node, such as 64Gi, for targets without a path here"},
	{"limit", "memory limit of a worker, such as 2Gi, for targets without a path here"},
	{"arc", "largest ARC, if these targets are on ZFS"},
	{"free", "free space of these targets (default: the size of the volume)"},
	{"rate", "bytes per second that the storage is assumed to write, for times and bytes that depend on it"},
}

func newPlanCommand() *cobra.Command {
	f := planFlags{facts: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what a StorageBenchmark would do, without doing it",
		Long: `Show what a StorageBenchmark would do: the trials in their order, the workers, which settings
change, which files are new in each trial and which are overwritten, which sizes are chosen
and why, and about how long it takes and how much it writes.

It needs no cluster and changes nothing. For a target with a path on this machine (hostPath,
blockDevice or --target), sizes are chosen from this machine's memory, memory limit, ARC
and free space. For others they depend on the node: say what it has with --memory, --limit,
--arc and --free.

Bytes that depend on the speed of the storage are marked with ~ and assume --rate. What is
at least so much is marked with ≥: how long a sync takes is not known.

Exit codes: 0 done, 1 failed, 2 bad input.`,
		Example: `  # what would this do on a node with 64 GiB of memory?
  storagebench plan -f benchmark.yaml --memory 64Gi --free 500Gi

  # and in a directory of this machine?
  storagebench plan -f benchmark.yaml --target fast=/mnt/fast

  # the sizes and their reasons, for a program
  storagebench plan -f benchmark.yaml -o json | jq '.workloads[].size'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "file"); err != nil {
				return err
			}
			if err := checkOutput(f.output, "table", "json", "yaml"); err != nil {
				return err
			}
			d, err := outline(cmd.Context(), f)
			if err != nil {
				return err
			}
			return printPlan(cmd.OutOrStdout(), f.output, d)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "file with the StorageBenchmark, or with a schedule of one; - for stdin")
	flags.StringVarP(&f.output, "output", "o", "table", "output format: table, json or yaml")
	flags.StringArrayVar(&f.targets, "target", nil, "NAME=PATH: measure PATH of this machine as target NAME; may be repeated")
	flags.IntVar(&f.nodes, "nodes", 0, "how many nodes measure (default: spec.placement.nodes)")
	for _, fact := range factFlags {
		f.facts[fact.name] = flags.String(fact.name, "", fact.about)
	}
	completeOutput(cmd, "table", "json", "yaml")
	*f.facts["rate"] = "200Mi"
	flags.Lookup("rate").DefValue = "200Mi"
	return cmd
}

// sizes parses the flags with sizes. An absent one is 0.
func (f planFlags) sizes() (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, fact := range factFlags {
		text := *f.facts[fact.name]
		if text == "" {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 || q.Value() == math.MaxInt64 {
			return nil, usage(fmt.Errorf("--%s %q is not a size: write it as 500Mi, 64Gi or 2T", fact.name, text))
		}
		out[fact.name] = uint64(q.Value())
	}
	return out, nil
}

// planDocument is what plan prints.
type planDocument struct {
	Benchmark string `json:"benchmark"`
	// Order of the trials. Its random choices are those of this outline: each run has its own
	// seed.
	Order string `json:"order"`
	// Searches are workloads whose trials are probes.
	Searches []plannedSearch `json:"searches,omitempty"`
	// Stop is the rule by which a worker may run fewer trials; absent: it runs all of them.
	Stop *trial.Stop `json:"stop,omitempty"`
	// Advice says which questions so many trials cannot answer.
	Advice    []string         `json:"advice,omitempty"`
	Trials    []plannedTrial   `json:"trials"`
	Workers   []plannedWorker  `json:"workers"`
	Settings  []plannedVariant `json:"settings,omitempty"`
	Workloads []plannedWork    `json:"workloads"`
	// AssumedRate is what estimates assume that the storage writes, in bytes per second.
	AssumedRate uint64 `json:"assumedRate"`
	// LeastSeconds is how long the trials and rounds take that run in any case, if the plan may stop early, or
	// a precondition may end early.
	LeastSeconds float64 `json:"leastSeconds,omitempty"`
	// Seconds and Bytes of all workers, one after the other, if they run all trials.
	Seconds float64 `json:"seconds"`
	Bytes   uint64  `json:"bytesWritten"`
	plannedBounds
	// Timeout of the spec in seconds, and whether the estimate exceeds it.
	TimeoutSeconds float64 `json:"timeoutSeconds,omitempty"`
	TooLong        bool    `json:"tooLong,omitempty"`
}

type plannedTrial struct {
	ID       string `json:"id"`
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Block    int    `json:"block,omitempty"`
}

type plannedSearch struct {
	Workload string `json:"workload"`
	trial.Knee
}

type plannedWorker struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	Node   string `json:"node"`
}

type plannedVariant struct {
	Variant  string          `json:"variant"`
	Tunables []trial.Tunable `json:"tunables,omitempty"`
}

// plannedWork is a workload on a target.
type plannedWork struct {
	Workload string     `json:"workload"`
	Engine   string     `json:"engine"`
	Target   string     `json:"target"`
	Mode     trial.Mode `json:"mode"`
	// Facts that were decided with, and where they are from.
	Facts workload.Machine `json:"facts"`
	From  string           `json:"factsFrom"`
	Free  uint64           `json:"free,omitempty"`
	// Size is present if the workload gives none.
	Size  *result.SizeChoice  `json:"size,omitempty"`
	Files []result.FileChoice `json:"files,omitempty"`
	// Changes are what of the workload is not done as it is written.
	Changes []string `json:"changes,omitempty"`
	Needs   uint64   `json:"needs"`
	// TooLarge reports that it needs more than there is.
	TooLarge bool   `json:"tooLarge,omitempty"`
	Prepares uint64 `json:"prepares"`
	// Trials of it on each node, and what each writes and takes.
	Trials  int     `json:"trials"`
	Writes  uint64  `json:"writesPerTrial"`
	Seconds float64 `json:"secondsPerTrial"`
	// Rounds are the most before the first trial, which are not measured, and LeastRounds those that there
	// are in any case. Each writes and takes what a trial does.
	Rounds      int `json:"preconditionRounds,omitempty"`
	LeastRounds int `json:"leastPreconditionRounds,omitempty"`
	// RoundsJudged reports that they end when the rate is steady.
	RoundsJudged bool `json:"preconditionJudged,omitempty"`
	plannedBounds
}

// plannedBounds say what times and bytes are: exact, or estimates.
type plannedBounds struct {
	// SecondsAtLeast reports that it may take longer: how fast the storage syncs is unknown.
	SecondsAtLeast bool `json:"secondsAtLeast,omitempty"`
	// BytesAtLeast and BytesEstimated report that more may be written, and that it depends on how
	// fast the storage is.
	BytesAtLeast   bool `json:"bytesAtLeast,omitempty"`
	BytesEstimated bool `json:"bytesEstimated,omitempty"`
}

// outline plans the benchmark as run and the operator do, and asks each engine.
func outline(ctx context.Context, f planFlags) (*planDocument, error) {
	sizes, err := f.sizes()
	if err != nil {
		return nil, err
	}
	b, err := readBenchmark(ctx, f.file)
	if err != nil {
		return nil, err
	}
	paths, modes, err := pathsHere(b, f.targets)
	if err != nil {
		return nil, err
	}
	variants, err := ownVariants(b)
	if err != nil {
		return nil, err
	}
	registry := engines.All()
	p, err := plan.Build(plan.Input{Benchmark: b, Run: "plan", Nodes: nodeNames(b, f.nodes), Modes: modes, Variants: variants, Engines: registry})
	if err != nil {
		return nil, err
	}
	d := &planDocument{Benchmark: b.Namespace + "/" + b.Name, Order: p.Order, Stop: p.Stop, Advice: plan.Advice(p), AssumedRate: sizes["rate"]}
	for _, t := range p.Trials {
		d.Trials = append(d.Trials, plannedTrial{t.ID, t.Workload, t.Variant, t.Block})
	}
	for _, w := range p.Workloads {
		if w.Knee != nil {
			d.Searches = append(d.Searches, plannedSearch{w.Name, *w.Knee})
		}
	}
	for _, w := range p.Workers {
		d.Workers = append(d.Workers, plannedWorker{w.Name, w.Target, w.Node})
	}
	for _, v := range p.Variants {
		d.Settings = append(d.Settings, plannedVariant{v.Name, v.Tunables})
	}
	for _, target := range plan.WithDefaults(b.Spec).Targets {
		i := slices.IndexFunc(p.Targets, func(t trial.Target) bool { return t.Name == target.Name })
		place, from := placeOf(ctx, target, p.Targets[i], paths[target.Name], sizes)
		laid := map[string]uint64{} // room before the first point of a sweep laid out the files of all
		for _, w := range p.Workloads {
			at, shared := place, false
			if room, ok := laid[w.Files]; ok && w.Files != "" {
				at.Room, shared = room, true
			}
			most, err := atMost(w)
			if err != nil {
				return nil, err
			}
			o, err := registry.Outline(most, at)
			if err != nil {
				return nil, fmt.Errorf("plan: workload %s on target %s: %w", w.Name, target.Name, err)
			}
			if shared {
				o.Prepares = 0
			} else {
				laid[w.Files] = place.Room
			}
			work := planned(o, w, p.Targets[i], at, sizes["rate"])
			work.From = from
			work.Rounds, work.LeastRounds = plan.MostRounds(w), plan.LeastRounds(w)
			work.RoundsJudged = w.Precondition != nil && w.Precondition.Judged
			work.Trials = len(slices.DeleteFunc(slices.Clone(p.Trials), func(t trial.Trial) bool { return t.Workload != w.Name }))
			d.Workloads = append(d.Workloads, work)
			if place.Room != math.MaxUint64 && !shared {
				place.Room -= min(place.Room, o.Keeps) // what it laid out stays for its next trials
			}
		}
	}
	d.total(len(p.Workers)/len(p.Targets), b.Spec.Timeout.Duration)
	return d, nil
}

// atMost is the workload with most to do: a search's, in the probe of the highest rate.
func atMost(w trial.Workload) (trial.Workload, error) {
	if w.Knee == nil {
		return w, nil
	}
	return w.At(w.Knee.To)
}

func planned(o workload.Outline, w trial.Workload, target trial.Target, place workload.Place, rate uint64) plannedWork {
	out := plannedWork{
		Workload: w.Name, Engine: w.Engine, Target: target.Name, Mode: target.Mode, Facts: place.Machine,
		Size: o.Size, Files: o.Files, Changes: o.Changes, Needs: o.Needs, Prepares: o.Prepares,
		plannedBounds: plannedBounds{SecondsAtLeast: o.Duration == 0, BytesAtLeast: o.AtLeast, BytesEstimated: o.WritesFor > 0},
	}
	out.Writes = workload.Sum(o.Writes, uint64(o.WritesFor.Seconds()*float64(rate)))
	if out.Seconds = o.Duration.Seconds(); o.Duration == 0 {
		out.Seconds = float64(max(out.Writes, o.Needs)) / float64(rate)
	}
	if place.Room != math.MaxUint64 {
		out.Free, out.TooLarge = place.Room, o.Needs > place.Room
	}
	return out
}

// pathsHere returns the paths of targets that are on this machine, and the modes of those that the
// command line replaces.
func pathsHere(b *v1alpha1.StorageBenchmark, replacements []string) (map[string]string, map[string]trial.Mode, error) {
	here := b.DeepCopy()
	replaced, err := parseReplacements(b, replacements)
	if err != nil {
		return nil, nil, err
	}
	here.Spec.Targets = slices.DeleteFunc(here.Spec.Targets, func(t v1alpha1.Target) bool {
		return replaced[t.Name] == "" && t.HostPath == nil && t.BlockDevice == nil
	})
	paths, modes, err := targetPaths(here, replacements)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range b.Spec.Targets {
		if t.PersistentVolumeClaim != nil && paths[t.Name] == "" {
			modes[t.Name] = trial.Filesystem // only the cluster knows
		}
	}
	return paths, modes, nil
}

// nodeNames are stand-ins: which nodes measure is only known in the cluster.
func nodeNames(b *v1alpha1.StorageBenchmark, asked int) []string {
	n := asked
	if wanted := b.Spec.Placement.Nodes; n == 0 && wanted != nil && wanted.Type == intstr.Int {
		n = wanted.IntValue() // a percentage is of nodes that only the cluster knows
	}
	names := make([]string, min(max(1, n), plan.MaxWorkers+1))
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}

// placeOf returns what is known of a target, and from where.
func placeOf(ctx context.Context, spec v1alpha1.Target, target trial.Target, path string, sizes map[string]uint64) (workload.Place, string) {
	place := workload.Place{Mode: target.Mode, Room: math.MaxUint64}
	from := "assumed: nothing is known of the node; give --memory"
	if _, err := os.Stat(path); path != "" && err == nil {
		e := environment.Collect(environment.Input{System: poolSystem(ctx, false), Path: withoutLinks(path), Mode: target.Mode})
		place.Machine, from = workload.MachineOf(e), "this machine"
		if e.Target.SizeBytes > 0 {
			place.Room = e.Target.FreeBytes
		}
	} else if spec.StorageClass != nil {
		place.Room = uint64(max(0, spec.StorageClass.Size.Value()))
	}
	for name, into := range map[string]*uint64{"memory": &place.Machine.Memory, "limit": &place.Machine.Limit, "arc": &place.Machine.ARC, "free": &place.Room} {
		if sizes[name] > 0 && from != "this machine" {
			*into = sizes[name]
		}
	}
	if from != "this machine" && sizes["memory"]+sizes["limit"]+sizes["arc"] > 0 {
		from = "the command line"
	}
	return place, from
}

func printPlan(w io.Writer, output string, d *planDocument) error {
	switch output {
	case "json":
		return printJSON(w, d)
	case "yaml":
		b, err := yaml.Marshal(d)
		if err != nil {
			return err
		}
		_, err = raw(w).Write(b)
		return err
	}
	return printPlanTable(w, d)
}

// settingsOf returns the settings of a variant in one line.
func settingsOf(d *planDocument, variant string) string {
	for _, v := range d.Settings {
		if v.Variant == variant && len(v.Tunables) > 0 {
			parts := make([]string, len(v.Tunables))
			for i, t := range v.Tunables {
				parts[i] = t.Name + "=" + t.Value
			}
			return strings.Join(parts, ", ")
		}
	}
	return "as they are"
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/cmd/storagebench/spec"
	"storagebench.io/storagebench/internal/trial"
)

type createFlags struct {
	clusterFlags
	classes, parameters, gates []string
	claim, size, preset        string
	schedule                   string
	trials                     int
	print                      bool
}

func newCreateCommand() *cobra.Command {
	f := createFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a StorageBenchmark from flags, or print it for Git",
		Long: `Create a StorageBenchmark with one workload of fio from flags. With --print it is written to
stdout, to be changed or kept in Git; no cluster is needed for that, but for --from-schedule. With
two or more StorageClasses, it compares them with the first.

With --from-schedule, it is what a schedule runs, compared with the same baseline: to run it now.
The run is in none of the schedule's series, and its limits do not delete it.

Whatever flags cannot say is written in the file: docs/reference/api.md has all fields.

Exit codes: 0 created or printed, 1 the cluster refused it, 2 bad input.`,
		Example: `  # two classes, compared
  storagebench create two-classes --storage-class fast --storage-class bulk --fio rw=randrw,bs=4k,iodepth=16

  # a preset with a limit, into a file
  storagebench create log --storage-class fast --preset etcd --gate 'sync.latency.p99<=10ms' --print > log.yaml

  # a volume that is there already
  storagebench create database --claim data --fio rw=randread,bs=8k -n storage-lab

  # what a schedule runs at night, now
  storagebench create after-the-firmware --from-schedule every-night -n storage-lab`,
		Args: arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			manifest, err := f.manifestOf(cmd, args[0])
			if err != nil {
				return err
			}
			if f.print {
				_, err := raw(cmd.OutOrStdout()).Write(manifest)
				return err
			}
			return f.create(cmd.Context(), manifest, cmd.OutOrStdout())
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.classes, "storage-class", nil, "StorageClass to measure a new volume of; may be repeated")
	flags.StringVar(&f.claim, "claim", "", "PersistentVolumeClaim to measure, instead of a new volume")
	flags.StringVar(&f.schedule, "from-schedule", "", "StorageBenchmarkSchedule of the namespace whose benchmark it is, instead of other flags")
	flags.StringVar(&f.size, "size", "20Gi", "size of new volumes")
	flags.StringVar(&f.preset, "preset", "", "preset of fio, as in docs/reference/fio-presets.md")
	flags.StringArrayVar(&f.parameters, "fio", nil, "NAME=VALUE,…: options of fio; may be repeated")
	flags.StringArrayVar(&f.gates, "gate", nil, "METRIC<=LIMIT or METRIC>=LIMIT that is good enough, such as read.latency.p99<=5ms; may be repeated")
	flags.IntVar(&f.trials, "trials", 0, "number of trials (default: as many as can answer)")
	flags.BoolVar(&f.print, "print", false, "print it, and create nothing")
	return cmd
}

// manifestOf returns the StorageBenchmark that the flags ask for.
func (f *createFlags) manifestOf(cmd *cobra.Command, name string) ([]byte, error) {
	if f.schedule == "" {
		if f.claim != "" && cmd.Flags().Changed("size") {
			return nil, usage(fmt.Errorf("--claim and --size: --size is of new volumes, and the claim has one; leave --size out"))
		}
		return f.manifest(cmd.Context(), name)
	}
	for _, flag := range []string{"storage-class", "claim", "size", "preset", "fio", "gate", "trials"} {
		if cmd.Flags().Changed(flag) {
			return nil, usage(fmt.Errorf("--from-schedule and --%s: the schedule says it; leave one of them out, or change what --print prints", flag))
		}
	}
	return f.fromSchedule(cmd.Context(), name)
}

// workloadName is the name of the workload that flags describe.
const workloadName = "fio"

// manifest returns the StorageBenchmark that flags describe, which the schema accepts.
func (f *createFlags) manifest(ctx context.Context, name string) ([]byte, error) {
	body, err := f.spec()
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"name": name}
	if f.namespace != "" {
		metadata["namespace"] = f.namespace
	}
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StorageBenchmark", "metadata": metadata, "spec": body,
	})
	if err != nil {
		return nil, err
	}
	if _, err := spec.Read(ctx, bytes.NewReader(manifest)); err != nil {
		return nil, err
	}
	return manifest, nil
}

func (f *createFlags) spec() (map[string]any, error) {
	body := map[string]any{}
	var targets []any
	for _, class := range f.classes {
		targets = append(targets, map[string]any{"name": class, "storageClass": map[string]any{"name": class, "size": f.size}})
	}
	switch {
	case f.claim != "" && len(targets) > 0:
		return nil, usage(fmt.Errorf("--storage-class and --claim: a benchmark from flags measures one kind of target; leave one of them out"))
	case f.claim == "" && len(targets) == 0:
		return nil, usage(fmt.Errorf("expected --storage-class, --claim or --from-schedule"))
	case f.claim != "":
		targets = []any{map[string]any{"name": f.claim, "persistentVolumeClaim": map[string]any{"claimName": f.claim}}}
	case len(targets) > 1:
		body["compare"] = map[string]any{"by": string(v1alpha1.CompareByTarget)}
	}
	body["targets"] = targets

	parameters, err := parseParameters(f.parameters)
	if err != nil {
		return nil, err
	}
	fio := map[string]any{}
	switch {
	case f.preset == "" && len(parameters) == 0:
		return nil, usage(fmt.Errorf("expected --preset, or --fio with options such as rw=randread,bs=4k"))
	case f.preset != "" && len(parameters) > 0:
		return nil, usage(fmt.Errorf("expected --preset or --fio, got both"))
	case f.preset != "":
		fio["preset"] = f.preset
	default:
		fio["parameters"] = parameters
	}
	body["workloads"] = []any{map[string]any{"name": workloadName, "fio": fio}}

	if f.trials != 0 {
		body["trials"] = map[string]any{"min": f.trials}
	}
	var gates []any
	for _, g := range f.gates {
		gate, err := parseGate(g)
		if err != nil {
			return nil, err
		}
		gates = append(gates, gate)
	}
	if len(gates) > 0 {
		body["gates"] = gates
	}
	return body, nil
}

// parseParameters reads NAME=VALUE,NAME=VALUE. A part without = continues the value before it, because
// values of fio may contain commas, as bs=4k,8k does.
func parseParameters(lists []string) (map[string]any, error) {
	values := map[string]string{}
	for _, list := range lists {
		last := ""
		for part := range strings.SplitSeq(list, ",") {
			name, value, ok := strings.Cut(part, "=")
			switch {
			case !ok && last != "":
				values[last] += "," + part
				continue
			case !ok || name == "" || value == "":
				return nil, usage(fmt.Errorf("--fio %q does not have the form NAME=VALUE,NAME=VALUE", list))
			}
			if _, twice := values[name]; twice {
				return nil, usage(fmt.Errorf("--fio names %s twice", name))
			}
			values[name], last = value, name
		}
	}
	parameters := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameters[name] = values[name]
	}
	return parameters, nil
}

var gatePattern = regexp.MustCompile(`^([A-Za-z0-9.]+)(<=|>=)(\S+)$`)

func parseGate(text string) (map[string]any, error) {
	match := gatePattern.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	if match == nil {
		return nil, usage(fmt.Errorf("--gate %q does not have the form METRIC<=LIMIT or METRIC>=LIMIT, for example read.latency.p99<=5ms", text))
	}
	bound := map[string]string{"<=": "max", ">=": "min"}[match[2]]
	return map[string]any{"workload": workloadName, "metric": match[1], bound: match[3]}, nil
}

// create makes the benchmark in the cluster as it was printed: without the defaults of the schema,
// which are the API server's to choose.
func (f *createFlags) create(ctx context.Context, manifest []byte, w io.Writer) error {
	c, namespace, err := f.client()
	if err != nil {
		return err
	}
	b := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &b.Object); err != nil {
		return err
	}
	b.SetNamespace(namespace)
	err = c.Create(ctx, b, &client.CreateOptions{FieldManager: "storagebench"})
	if apierrors.IsAlreadyExists(err) {
		return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("there is a StorageBenchmark %s in namespace %s already", b.GetName(), namespace), Remedy: "choose another name, or run that one again with: storagebench rerun " + b.GetName(), Err: err}
	}
	if err != nil {
		return notCreated(err, namespace)
	}
	_, err = fmt.Fprintf(w, "%s/%s created; follow it with: storagebench watch %s -n %s\n", namespace, b.GetName(), b.GetName(), namespace)
	return err
}

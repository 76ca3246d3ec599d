package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
)

// listFormats are what -o of get can be without a NAME; with one, table is its state and its rows.
var listFormats = []string{"table", "wide", "name", "json", "yaml"}

// list returns the benchmarks of a namespace, or of all.
func list(ctx context.Context, c client.Client, namespace string, everywhere bool) (*v1alpha1.StorageBenchmarkList, error) {
	var options []client.ListOption
	if !everywhere {
		options = append(options, client.InNamespace(namespace))
	}
	found := &v1alpha1.StorageBenchmarkList{}
	if err := c.List(ctx, found, options...); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("the cluster has no StorageBenchmark resource; install storagebench first (charts/storagebench)")
		}
		return nil, err
	}
	return found, nil
}

// printObjects writes objects in those of listFormats that are no table, and reports whether output is one of
// them. One that was asked for by name is an object in JSON and YAML; several are a list.
func printObjects[T any, P interface {
	*T
	client.Object
}](w io.Writer, output, kind string, items []T, single bool) (done bool, err error) {
	for i := range items {
		o := P(&items[i])
		o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		o.SetManagedFields(nil)
		if output == "name" {
			fmt.Fprintln(w, strings.ToLower(kind)+"."+v1alpha1.GroupVersion.Group+"/"+o.GetName())
		}
	}
	switch output {
	case "name":
		return true, nil
	case "json", "yaml":
		var document any = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
		if single {
			document = items[0]
		}
		return true, encode(w, output, document)
	}
	return false, nil
}

// printList writes benchmarks in one of listFormats. One that was asked for by name is an object in
// JSON and YAML; several are a list.
func printList(w io.Writer, output string, items []v1alpha1.StorageBenchmark, single, everywhere bool, now time.Time) error {
	if done, err := printObjects(w, output, "StorageBenchmark", items, single); done {
		return err
	}
	t := tabwriter.NewWriter(coloured(w), 0, 0, 2, ' ', 0)
	columns := "NAME\tSTATUS\tANSWER\tTRIALS\tDURATION\tHEADLINE\tAGE"
	if everywhere {
		columns = "NAMESPACE\t" + columns
	}
	if output == "wide" {
		columns += "\tRESULTS"
	}
	fmt.Fprintln(t, columns)
	for i := range items {
		fmt.Fprintln(t, listRow(&items[i], output == "wide", everywhere, now))
	}
	return t.Flush()
}

func encode(w io.Writer, output string, document any) error {
	if output == "yaml" {
		data, err := yaml.Marshal(document)
		if err != nil {
			return err
		}
		_, err = raw(w).Write(data)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

func listRow(b *v1alpha1.StorageBenchmark, wide, everywhere bool, now time.Time) string {
	answer, trials, took, location := "", "", "", ""
	if b.Status.Answer != nil {
		answer = b.Status.Answer.Answer
	}
	if run := b.Status.Run; run != nil {
		trials, location = run.Progress, run.Location
		if active := activeFor(run, now); active > 0 {
			took = active.Round(time.Second).String()
		}
	}
	row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", b.Name, stateOf(b), answer, trials, took, b.Status.Headline, duration.HumanDuration(now.Sub(b.CreationTimestamp.Time)))
	if everywhere {
		row = b.Namespace + "\t" + row
	}
	if wide {
		row += "\t" + location
	}
	return row
}

// stateOf is the reason of Ready, as the column STATUS says it.
func stateOf(b *v1alpha1.StorageBenchmark) string {
	if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return "Pending"
}

// activeFor is how long a run has been active, as its column DURATION says: without the time in a
// queue and in suspension.
func activeFor(run *v1alpha1.RunStatus, now time.Time) time.Duration {
	active := time.Duration(0)
	if run.ActiveFor != nil {
		active = run.ActiveFor.Duration
	}
	if run.ActiveSince != nil && run.FinishedAt == nil {
		active += max(0, now.Sub(run.ActiveSince.Time))
	}
	return active
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// schedules returns the StorageBenchmarkSchedules of a namespace, or of all, or the one of a name.
func schedules(ctx context.Context, c client.Client, namespace, name string, everywhere bool) ([]v1alpha1.StorageBenchmarkSchedule, error) {
	if name != "" {
		s := v1alpha1.StorageBenchmarkSchedule{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
		if apierrors.IsNotFound(err) {
			err = &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("there is no StorageBenchmarkSchedule %s in namespace %s", name, namespace), Remedy: "list all with: storagebench get --schedules -A", Err: err}
		}
		return []v1alpha1.StorageBenchmarkSchedule{s}, noSchedules(err)
	}
	var options []client.ListOption
	if !everywhere {
		options = append(options, client.InNamespace(namespace))
	}
	found := &v1alpha1.StorageBenchmarkScheduleList{}
	err := c.List(ctx, found, options...)
	return found.Items, noSchedules(err)
}

func noSchedules(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster has no StorageBenchmarkSchedule resource; install this release of storagebench, with its CRDs (charts/storagebench)")
	}
	return err
}

// getSchedules is get --schedules.
func getSchedules(cmd *cobra.Command, c client.Client, namespace, output string, args []string, everywhere bool) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	items, err := schedules(cmd.Context(), c, namespace, name, everywhere)
	if err != nil {
		return err
	}
	if len(items) == 0 && (output == "table" || output == "wide") {
		fmt.Fprintln(cmd.ErrOrStderr(), "there is no StorageBenchmarkSchedule")
		return nil
	}
	return printSchedules(cmd.OutOrStdout(), output, items, name != "", everywhere, time.Now())
}

// printSchedules writes schedules in one of listFormats. Of one that was asked for by name, the table is
// followed by its changes.
func printSchedules(w io.Writer, output string, items []v1alpha1.StorageBenchmarkSchedule, single, everywhere bool, now time.Time) error {
	if done, err := printObjects(w, output, "StorageBenchmarkSchedule", items, single); done {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	columns := "NAME\tSTATUS\tSCHEDULE\tLAST\tOUTCOME\tREGRESSED\tHEADLINE\tAGE"
	if everywhere {
		columns = "NAMESPACE\t" + columns
	}
	if output == "wide" {
		columns += "\tNEXT\tMESSAGE"
	}
	fmt.Fprintln(t, columns)
	for i := range items {
		fmt.Fprintln(t, scheduleRow(&items[i], output == "wide", everywhere, now))
	}
	if err := t.Flush(); err != nil || !single {
		return err
	}
	return printChanges(w, items[0].Status.Changes)
}

func scheduleRow(s *v1alpha1.StorageBenchmarkSchedule, wide, everywhere bool, now time.Time) string {
	state, message, regressed := "Pending", "", ""
	if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		state, message = ready.Reason, ready.Message
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRegressed); c != nil {
		regressed = string(c.Status)
	}
	last := cmp.Or(s.Status.LastRun, &v1alpha1.LastRun{})
	row := fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", s.Name, state, s.Spec.Schedule, ago(s.Status.LastScheduleTime, now), last.Outcome, regressed, last.Headline, ago(&s.CreationTimestamp, now))
	if everywhere {
		row = s.Namespace + "\t" + row
	}
	if wide {
		next := ""
		if at := s.Status.NextScheduleTime; at != nil {
			next = at.UTC().Format(time.RFC3339)
		}
		row += "\t" + next + "\t" + message
	}
	return row
}

func ago(at *metav1.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return duration.HumanDuration(now.Sub(at.Time))
}

// printChanges writes a line for each change, and what else changed at that run.
func printChanges(w io.Writer, changes []v1alpha1.Change) error {
	if len(changes) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SINCE\tTARGET\tWORKLOAD\tNODE\tMETRIC\tCHANGE\tSTATE\tPRESENT\tALSO CHANGED")
	for _, c := range changes {
		workload := c.Workload
		if c.Variant != "" {
			workload += "." + c.Variant
		}
		also := strings.Join(c.Differences, "; ")
		present := "yes"
		switch {
		case !c.Present:
			present = "no"
		case c.Acknowledged:
			present = "acknowledged"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s %s -> %s\t%s %s\t%s\t%s\n", c.Since, c.Target, workload, c.Node, c.Metric, c.Percent, c.From.String(), c.To.String(), c.State, c.Direction, present, also)
	}
	return t.Flush()
}

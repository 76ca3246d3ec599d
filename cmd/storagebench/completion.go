package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// completionShells are the shells that completion knows.
var completionShells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes commands, flags and names in a shell",
		Long: `Print a script with which a shell completes commands, flags and the names of StorageBenchmarks.
SHELL is ` + strings.Join(completionShells, ", ") + `.

For "kubectl storagebench", put a file named kubectl_complete-storagebench on the PATH:

  #!/bin/sh
  exec kubectl-storagebench __complete "$@"

Exit codes: 0 printed, 2 bad input.`,
		Example: `  # in this bash; the package bash-completion must be installed
  source <(storagebench completion bash)

  # in every zsh
  storagebench completion zsh > "${fpath[1]}/_storagebench"

  # in every fish
  storagebench completion fish > ~/.config/fish/completions/storagebench.fish`,
		Args:      arguments(1, "SHELL"),
		ValidArgs: completionShells,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(w, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(w)
			case "fish":
				return cmd.Root().GenFishCompletion(w, true)
			case "powershell":
				return cmd.Root().GenPowerShellCompletionWithDesc(w)
			}
			return &trial.Failure{Class: reason.InvalidSpec, Message: "there is no completion for the shell " + args[0], Remedy: suggest.Remedy(args[0], completionShells)}
		},
	}
}

// completionLimit is how long a shell waits for names from the cluster.
const completionLimit = 2 * time.Second

// completeNames returns the names of the benchmarks in the namespace, for a shell. A cluster that
// does not answer has none.
func (f *clusterFlags) completeNames(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	c, namespace, err := f.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := list(ctx, c, namespace, false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions(found.Items, begun), cobra.ShellCompDirectiveNoFileComp
}

// completions are the names that begin so, each described by its state.
func completions(items []v1alpha1.StorageBenchmark, begun string) []cobra.Completion {
	var names []cobra.Completion
	for i := range items {
		if strings.HasPrefix(items[i].Name, begun) {
			names = append(names, cobra.CompletionWithDesc(items[i].Name, stateOf(&items[i])))
		}
	}
	slices.Sort(names)
	return names
}

// completeOutput lets a shell complete the formats of -o.
func completeOutput(cmd *cobra.Command, formats ...string) {
	completeFlag(cmd, "output", formats...)
}

// completeFlag lets a shell complete the values of a flag. That a flag does not exist is a mistake of
// the program, which every test of the command shows.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

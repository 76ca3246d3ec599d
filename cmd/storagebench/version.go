package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// linkedVersion is set by the linker with -X main.linkedVersion=v1.2.3.
var linkedVersion string

// version returns the linked version, or else the commit that the program was
// built from.
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the release that this program is of, or the commit that it was built from.

Exit codes: 0 done, 2 bad input.`,
		Example: `  storagebench version`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

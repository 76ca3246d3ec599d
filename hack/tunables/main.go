// Command tunables writes docs/reference/tunables.md to the file that it is given. It
// is run by go generate.
package main

import (
	"bytes"
	"fmt"
	"os"

	"storagebench.io/storagebench/internal/tunable"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tunables FILE")
		os.Exit(2)
	}
	var b bytes.Buffer
	err := tunable.WriteReference(&b)
	if err == nil {
		err = os.WriteFile(os.Args[1], b.Bytes(), 0o644) //nolint:gosec // a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tunables:", err)
		os.Exit(1)
	}
}

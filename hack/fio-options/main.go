// Command fio-options writes docs/reference/fio-options.md to the file that it is
// given. It is run by go generate.
package main

import (
	"bytes"
	"fmt"
	"os"

	"storagebench.io/storagebench/internal/workload/fio"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: fio-options FILE")
		os.Exit(2)
	}
	var b bytes.Buffer
	err := fio.WriteReference(&b)
	if err == nil {
		err = os.WriteFile(os.Args[1], b.Bytes(), 0o644) //nolint:gosec // a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fio-options:", err)
		os.Exit(1)
	}
}

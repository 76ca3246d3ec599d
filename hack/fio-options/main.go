// Command fio-options writes docs/reference/fio-options.md to the file that it is
// given, or with -presets docs/reference/fio-presets.md. It is run by go generate.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"storagebench.io/storagebench/internal/workload/fio"
)

func main() {
	presets := flag.Bool("presets", false, "write the reference of the presets instead")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: fio-options [-presets] FILE")
		os.Exit(2)
	}
	write := fio.WriteReference
	if *presets {
		write = fio.WritePresets
	}
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = os.WriteFile(flag.Arg(0), b.Bytes(), 0o644) //nolint:gosec // a file of the repository
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fio-options:", err)
		os.Exit(1)
	}
}

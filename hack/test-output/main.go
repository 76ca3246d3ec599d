// Command test-output makes what "go test -json" prints readable (hack/go-test): a line
// for each package that has tests, with what it printed if it failed, and with -v one for
// each test as it ends. Tests that run side by side do not mix: what one prints comes out
// in one piece.
//
// With -times FILE it adds a line "SECONDS<tab>PACKAGE TEST" for each test to the file. With
// -failures FILE it writes the names of the tests that failed to the file, a line each, and
// none if something failed that is not a test's.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print a line for each test as it ends, and what failed at once")
	times := flag.String("times", "", "`file` to which the time of each test is added")
	failures := flag.String("failures", "", "`file` to which the names of the tests that failed are written")
	flag.Parse()
	failed, err := run(os.Stdin, os.Stdout, *verbose, *times, *failures)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test-output:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, verbose bool, times, failures string) (failed bool, err error) {
	r := newReport(out, verbose)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return r.failed, err
		}
	}
	r.end()
	if times != "" {
		if err := addTimes(times, r.times); err != nil {
			return r.failed, err
		}
	}
	if failures == "" {
		return r.failed, nil
	}
	var names strings.Builder
	for _, k := range r.failures {
		if !r.unexplained {
			fmt.Fprintln(&names, k.test)
		}
	}
	return r.failed, os.WriteFile(failures, []byte(names.String()), 0o644)
}

func addTimes(file string, times []timed) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	for _, t := range times {
		if _, err := fmt.Fprintf(f, "%.2f\t%s %s\n", t.seconds, t.pkg, t.test); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

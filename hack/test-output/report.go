package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of "go test -json" (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

type timed struct {
	seconds   float64
	pkg, test string
}

type key struct{ pkg, test string }

// report collects what each test printed until it ends.
type report struct {
	out     io.Writer
	verbose bool
	failed  bool
	times   []timed
	// failures are the tests that failed, and unexplained is whether something else did: what
	// does not build, a panic, a test that never ended. Running the tests again explains nothing then.
	failures    []key
	unexplained bool
	// printed by a test that has not ended, with its subtests, or, without a test's
	// name, by a package outside of tests.
	printed map[key]*strings.Builder
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, printed: map[key]*strings.Builder{}}
}

func (r *report) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		fmt.Fprintf(r.out, "%s", line) // go's own words, such as "no required module provides …"
		return
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed, r.unexplained = true, true
	case "output":
		r.output(e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnds(e)
		} else {
			r.testEnds(e)
		}
	}
}

// top is the test that a subtest is of.
func top(test string) string {
	name, _, _ := strings.Cut(test, "/")
	return name
}

// output keeps what is printed, without the lines that only say which test it is of.
func (r *report) output(e event) {
	for _, noise := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(e.Output, noise) {
			return
		}
	}
	k := key{e.Package, top(e.Test)}
	if r.printed[k] == nil {
		r.printed[k] = &strings.Builder{}
	}
	r.printed[k].WriteString(e.Output)
}

func (r *report) take(k key) string {
	b := r.printed[k]
	delete(r.printed, k)
	if b == nil {
		return ""
	}
	return b.String()
}

func (r *report) testEnds(e event) {
	if e.Action == "fail" {
		r.failed = true
	}
	if strings.Contains(e.Test, "/") {
		return // it is shown with the test that it is of
	}
	r.times = append(r.times, timed{e.Elapsed, e.Package, e.Test})
	text := r.take(key{e.Package, e.Test})
	if e.Action == "fail" {
		r.failures = append(r.failures, key{e.Package, e.Test})
		fmt.Fprint(r.out, text)
	}
	if r.verbose {
		fmt.Fprintf(r.out, "%-4s %-70s %7.1f s\n", map[string]string{"pass": "ok", "fail": "FAIL", "skip": "skip"}[e.Action], e.Test, e.Elapsed)
	}
}

func (r *report) packageEnds(e event) {
	text := r.take(key{pkg: e.Package})
	switch e.Action {
	case "fail":
		r.failed = true
		if !slices.ContainsFunc(r.failures, func(k key) bool { return k.pkg == e.Package }) {
			r.unexplained = true
		}
		// What was running when it ended has not ended: a panic, or a timeout.
		for _, k := range slices.SortedFunc(maps.Keys(r.printed), func(a, b key) int { return strings.Compare(a.test, b.test) }) {
			if k.pkg == e.Package {
				r.unexplained = r.unexplained || k.test != ""
				fmt.Fprint(r.out, r.take(k))
			}
		}
		fmt.Fprint(r.out, text)
	case "pass":
		fmt.Fprintf(r.out, "ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	}
	// "skip" is a package without tests.
}

// end shows what is left of tests that never ended: go itself was killed.
func (r *report) end() {
	for k := range r.printed {
		r.failed, r.unexplained = true, true
		fmt.Fprintf(r.out, "%sFAIL %s %s did not end\n", r.take(k), k.pkg, k.test)
	}
}

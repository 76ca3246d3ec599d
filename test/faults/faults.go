package faults

import (
	"fmt"
	"os"
	"testing"
)

// Variable names the file that faults and settings are counted in.
const Variable = "STORAGEBENCH_FAULTS"

// Injected counts a fault.
func Injected(tb testing.TB, what string) {
	tb.Helper()
	note(tb, "fault", what)
}

// LeftChanged counts a setting that is not what it was before, and fails the test.
func LeftChanged(tb testing.TB, setting, before, now string) {
	tb.Helper()
	tb.Errorf("%s was %q and is %q", setting, before, now)
	note(tb, "changed", fmt.Sprintf("%s %q %q", setting, before, now))
}

// Wedged counts a benchmark that neither ends nor says what it waits for, and fails the test.
func Wedged(tb testing.TB, benchmark, why string) {
	tb.Helper()
	tb.Errorf("%s is wedged: %s", benchmark, why)
	note(tb, "wedged", fmt.Sprintf("%s %q", benchmark, why))
}

// Compare counts what differs in settings, by their names.
func Compare(tb testing.TB, before, now map[string]string) {
	tb.Helper()
	for name, value := range before {
		if now[name] != value {
			LeftChanged(tb, name, value, now[name])
		}
	}
}

func note(tb testing.TB, kind, what string) {
	tb.Helper()
	name := os.Getenv(Variable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", kind, tb.Name(), what)
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

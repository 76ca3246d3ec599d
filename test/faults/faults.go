package faults

import (
	"fmt"
	"testing"

	"storagebench.io/storagebench/test/ledger"
)

// Variable names the file that faults and settings are counted in.
const Variable = "STORAGEBENCH_FAULTS"

// Injected counts a fault.
func Injected(tb testing.TB, what string) {
	tb.Helper()
	ledger.Note(tb, Variable, "fault", what)
}

// LeftChanged counts a setting that is not what it was before, and fails the test.
func LeftChanged(tb testing.TB, setting, before, now string) {
	tb.Helper()
	tb.Errorf("%s was %q and is %q", setting, before, now)
	ledger.Note(tb, Variable, "changed", fmt.Sprintf("%s %q %q", setting, before, now))
}

// Wedged counts a benchmark that neither ends nor says what it waits for, and fails the test.
func Wedged(tb testing.TB, benchmark, why string) {
	tb.Helper()
	tb.Errorf("%s is wedged: %s", benchmark, why)
	ledger.Note(tb, Variable, "wedged", fmt.Sprintf("%s %q", benchmark, why))
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

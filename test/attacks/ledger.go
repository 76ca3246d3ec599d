package attacks

import (
	"testing"

	"storagebench.io/storagebench/test/ledger"
)

// Variable names the file that attacks are counted in, one a line: attack, control or
// succeeded, the test, and what it was. Without it nothing is counted.
const Variable = "STORAGEBENCH_ATTACKS"

// Attacked counts an attack that was carried out.
func Attacked(tb testing.TB, what string) {
	tb.Helper()
	tb.Logf("attack: %s", what)
	ledger.Note(tb, Variable, "attack", what)
}

// Controlled counts a control: the attack works where the defence is not.
func Controlled(tb testing.TB, what string) {
	tb.Helper()
	tb.Logf("control: ok: %s", what)
	ledger.Note(tb, Variable, "control", what)
}

// Succeeded counts an attack that worked, and fails the test.
func Succeeded(tb testing.TB, what, how string) {
	tb.Helper()
	tb.Errorf("the attack succeeded: %s: %s", what, how)
	ledger.Note(tb, Variable, "succeeded", what+": "+how)
}

package attacks

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Variable names the file that attacks are counted in, one a line: attack, control or
// succeeded, the test, and what it was. Without it nothing is counted.
const Variable = "STORAGEBENCH_ATTACKS"

// Attacked counts an attack that was carried out.
func Attacked(tb testing.TB, what string) {
	tb.Helper()
	tb.Logf("attack: %s", what)
	note(tb, "attack", what)
}

// Controlled counts a control: the attack works where the defence is not.
func Controlled(tb testing.TB, what string) {
	tb.Helper()
	tb.Logf("control: ok: %s", what)
	note(tb, "control", what)
}

// Succeeded counts an attack that worked, and fails the test.
func Succeeded(tb testing.TB, what, how string) {
	tb.Helper()
	tb.Errorf("the attack succeeded: %s: %s", what, how)
	note(tb, "succeeded", what+": "+how)
}

func note(tb testing.TB, kind, what string) {
	tb.Helper()
	name := os.Getenv(Variable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", kind, tb.Name(), strings.Join(strings.Fields(what), " "))
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

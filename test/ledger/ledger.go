package ledger

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Note writes a line into the file that the variable names. Several programs may write to it.
func Note(tb testing.TB, variable, kind, what string) {
	tb.Helper()
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", kind, tb.Name(), strings.Join(strings.Fields(what), " "))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
}

package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNoteIsOneLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	t.Setenv("STORAGEBENCH_TEST_LEDGER", file)
	Note(t, "STORAGEBENCH_TEST_LEDGER", "fault", "a Pod\n\tis killed")
	Note(t, "STORAGEBENCH_TEST_LEDGER", "changed", "nr_requests")
	Note(t, "STORAGEBENCH_TEST_NO_LEDGER", "changed", "nothing")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(content), "fault\tTestNoteIsOneLine\ta Pod is killed\nchanged\tTestNoteIsOneLine\tnr_requests\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

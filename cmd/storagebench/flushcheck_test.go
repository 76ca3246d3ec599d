package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordedRun lets a witness keep what "record" says until it has written all records, as it
// would say it until the power is cut. It returns the log and the records.
func recordedRun(t *testing.T, dir, name string) (log, records string) {
	t.Helper()
	log, records = filepath.Join(dir, name+".log"), filepath.Join(dir, name)
	witness := program(t.Context(), "flushcheck", "witness", "--listen", "127.0.0.1:0", "-o", log)
	said, err := witness.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := witness.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "waiting on ")
	if err != nil || !ok {
		t.Fatalf("the witness says %q (%v)", line, err)
	}
	_, stderr, code := output(t, "flushcheck", "record", "--witness", address, "--records", "30", "--buffered", records)
	if code != exitFailed || !strings.Contains(stderr, "cut the power now") || !strings.Contains(stderr, "the power was not cut") {
		t.Fatalf("record exits with %d and says %q", code, stderr)
	}
	if err := witness.Wait(); err != nil {
		t.Fatal("witness:", err)
	}
	return log, records
}

func TestFlushcheckFindsWhatACutHasLost(t *testing.T) {
	dir := t.TempDir()
	log, records := recordedRun(t, dir, "one")
	good := filepath.Join(dir, "good.json")
	stdout, stderr, code := output(t, "flushcheck", "verify", "--log", log, "-o", good, records)
	if code != exitDone || stdout != "NoLoss: all 30 records for which fdatasync returned are there\n" {
		t.Fatalf("verify exits with %d and says %q %q", code, stdout, stderr)
	}

	// What a disk that ignores flushes might leave: a hole, and a file that is too short.
	log2, records2 := recordedRun(t, dir, "two")
	data, err := os.ReadFile(records2)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[4096*4 : 4096*6])
	if err := os.WriteFile(records2, data[:4096*28+100], 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.json")
	stdout, stderr, code = output(t, "flushcheck", "verify", "--log", log2, "-o", bad, records2)
	if code != exitRegression || !strings.HasPrefix(stdout, "Lies: fdatasync returned for 30 records, and 4 of them are lost") || !strings.Contains(stdout, "5-6,29-30") {
		t.Fatalf("verify exits with %d and says %q %q", code, stdout, stderr)
	}

	// A log that ends before the first sync shows nothing.
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	early := filepath.Join(dir, "early.log")
	if err := os.WriteFile(early, text[:bytes.IndexByte(text, '\n')+1], 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, _, code := output(t, "flushcheck", "verify", "--log", early, records); code != exitInconclusive || !strings.HasPrefix(stdout, "NotTried: ") {
		t.Errorf("verify exits with %d and says %q", code, stdout)
	}

	// A file that is gone may be a wrong path.
	if _, stderr, code := output(t, "flushcheck", "verify", "--log", log, filepath.Join(dir, "gone")); code != exitInvalid || !strings.Contains(stderr, "--missing-is-lost") {
		t.Errorf("verify of nothing exits with %d and says %q", code, stderr)
	}
	if stdout, _, code := output(t, "flushcheck", "verify", "--missing-is-lost", "--log", log, filepath.Join(dir, "gone")); code != exitRegression || !strings.Contains(stdout, "30 of them are lost") {
		t.Errorf("verify of what is lost exits with %d and says %q", code, stdout)
	}

	for name, test := range map[string]struct {
		files []string
		code  int
		says  string
	}{
		"one without loss": {[]string{good}, exitDone, "NoLoss: no loss in 1 cut: with 95 % confidence, fewer than 95.0 % of such cuts lose acknowledged data"},
		"one with loss":    {[]string{good, bad}, exitRegression, "Lies: 1 of 2 cuts lost data"},
		"the same twice":   {[]string{good, good}, exitInvalid, "are about the same cut"},
		"not an outcome":   {[]string{log}, exitInvalid, "flushcheck verify -o"},
		"no file":          {nil, exitInvalid, "at least 1 argument"},
	} {
		stdout, stderr, code := output(t, append([]string{"flushcheck", "summary"}, test.files...)...)
		if code != test.code || !strings.Contains(stdout+stderr, test.says) {
			t.Errorf("%s: summary exits with %d and says %q %q", name, code, stdout, stderr)
		}
	}
}

func TestFlushcheckRefuses(t *testing.T) {
	dir := t.TempDir()
	existing := filepath.Join(dir, "existing")
	if err := os.WriteFile(existing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no witness":          {[]string{"record", existing}, exitInvalid, "--witness is missing"},
		"no path":             {[]string{"record", "--witness", "127.0.0.1:1"}, exitInvalid, "PATH"},
		"an odd block":        {[]string{"record", "--witness", "127.0.0.1:1", "--block", "1000", existing}, exitInvalid, "power of two"},
		"no records":          {[]string{"record", "--witness", "127.0.0.1:1", "--records", "0", existing}, exitInvalid, "from 1 to"},
		"nobody listens":      {[]string{"record", "--witness", "127.0.0.1:1", existing}, exitFailed, "witness cannot be reached"},
		"no log":              {[]string{"witness", "--listen", "127.0.0.1:0"}, exitInvalid, "--output is missing"},
		"a log that is there": {[]string{"witness", "--listen", "127.0.0.1:0", "-o", existing}, exitFailed, "exists"},
		"no time":             {[]string{"witness", "--listen", "127.0.0.1:0", "-o", existing, "--silence", "0s"}, exitInvalid, "--silence"},
		"an empty log":        {[]string{"verify", "--log", existing, existing}, exitInvalid, "the log is empty"},
	} {
		stdout, stderr, code := output(t, append([]string{"flushcheck"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%s: it exits with %d and says %q %q", name, code, stdout, stderr)
		}
	}
}

package scripts

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// However a script ends, its last line says which target, and whether it is done.
func TestAScriptEndsWithOneVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   string
	}{
		"it is done":                        {`ok "3 trials"`, "demo: ok: 3 trials"},
		"it says why it is not done":        {`short "no node"`, "demo: short: no node"},
		"a command fails":                   {`(exit 7)`, "demo: short: it stopped with exit code 7 at line 4: ( exit 7 )"},
		"a command in a function fails":     {`f() { false; }; f`, "demo: short: it stopped with exit code 1 at line 4: false"},
		"a command of a pipe fails":         {`false | cat`, "demo: short: it stopped with exit code 1"},
		"a variable is not set":             {`echo "$missing"`, "demo: short: it stopped with exit code 1"},
		"what it sources ends it":           {`. /dev/stdin <<<"exit 1"`, "demo: short: it stopped with exit code 1"},
		"it ends without a verdict":         {`true`, "demo: short: it stopped with exit code 0"},
		"it tidies up after it is done":     {`at_end() { echo tidy; }; ok done`, "demo: ok: done"},
		"it cannot tidy up":                 {`at_end() { false; }; ok done`, "demo: short: it could not tidy up (see above), after ok: done"},
		"it is not done and cannot tidy up": {`at_end() { false; }; short "no node"`, "demo: short: no node"},
		"it has another target's verdict":   {`verdict_for undemo; ok gone`, "undemo: ok: gone"},
	} {
		t.Run(name, func(t *testing.T) {
			script := "set -euo pipefail\n. ../../hack/verdict.sh\nverdict_for demo\n" + c.script + "\n"
			out, err := exec.CommandContext(t.Context(), "bash", "-c", script).Output()
			failure, failed := errors.AsType[*exec.ExitError](err)
			if err != nil && !failed {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.want) {
				t.Errorf("the last line is %q, want %q", last, c.want)
			}
			if n := strings.Count(string(out), "demo: "); n != 1 {
				t.Errorf("it prints %d verdicts: %s", n, out)
			}
			if done := strings.Contains(c.want, "ok: ") && !strings.Contains(c.want, "short: "); done == failed {
				t.Errorf("it ends with %v, and %q", failure, c.want)
			}
		})
	}
}

package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"storagebench.io/storagebench/internal/qualify"
)

// A command without an example, or whose exit codes are not said, is one that people must try out.
func TestEveryCommandHasHelpWithExamplesAndExitCodes(t *testing.T) {
	commands := visible(newCommand())
	if len(commands) < 20 {
		t.Fatalf("there are only %d commands", len(commands))
	}
	for _, c := range commands {
		t.Run(c.CommandPath(), func(t *testing.T) {
			if c.Short == "" || strings.HasSuffix(c.Short, ".") {
				t.Errorf("its line in the list is %q", c.Short)
			}
			if !strings.Contains(c.Example, "storagebench ") {
				t.Errorf("it has no example")
			}
			if exitCodesOf(c) == "" {
				t.Errorf("its help does not end with exit codes:\n%s", c.Long)
			}
		})
	}
}

// An example whose flags do not exist teaches mistakes.
func TestExamplesUseFlagsThatExist(t *testing.T) {
	checked := 0
	for _, c := range visible(newCommand()) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			for _, args := range callsOf(line) {
				checked++
				target, rest, err := newCommand().Find(args)
				if err == nil {
					err = target.ParseFlags(rest)
				}
				if err != nil || !target.HasParent() {
					t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d examples were checked", checked)
	}
}

// quoted is an argument that may contain anything.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// callsOf returns the arguments of each call of storagebench in a line of shell.
func callsOf(line string) (calls [][]string) {
	line, _, _ = strings.Cut(strings.TrimSpace(line), "# ")
	line = quoted.ReplaceAllString(line, "quoted")
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|&;<>()", r) }) {
		words := strings.Fields(part)
		if len(words) > 1 && words[0] == "sudo" {
			words = words[1:]
		}
		if len(words) > 1 && words[0] == "storagebench" {
			calls = append(calls, words[1:])
		}
	}
	return calls
}

func TestReferenceIsUpToDate(t *testing.T) {
	for page, file := range map[string]string{"cli": "cli.md", "exit-codes": "exit-codes.md"} {
		want, err := os.ReadFile("../../docs/reference/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := references[page](&got, newCommand()); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("docs/reference/%s is out of date: run make docs", file)
		}
	}
}

func TestIndentedLinesOfAHelpTextAreCode(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb":                  "a\nb",
		"a:\n\n  x\n\n  y\n\nb": "a:\n\n```text\nx\n\ny\n```\n\nb",
		"a:\n\n  x\n    y":      "a:\n\n```text\nx\n  y\n```",
	} {
		if got := asMarkdown(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range completionShells {
		if stdout, stderr, code := output(t, "completion", shell); code != exitDone || !strings.Contains(stdout, "storagebench") {
			t.Errorf("%s: exit code %d, %d bytes, %s", shell, code, len(stdout), stderr)
		}
	}
	if _, stderr, code := output(t, "completion", "bahs"); code != exitInvalid || !strings.Contains(stderr, "did you mean bash?") {
		t.Errorf("a shell misspelt: exit code %d: %s", code, stderr)
	}
	for _, c := range []struct{ args, want []string }{
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"compare", "-o", ""}, []string{"table", "json"}},
		{[]string{"qualify", "--for", ""}, qualify.Names()},
		{[]string{"qual"}, []string{"qualify"}},
	} {
		stdout, _, code := output(t, append([]string{cobra.ShellCompNoDescRequestCmd}, c.args...)...)
		if code != exitDone || !strings.HasPrefix(stdout, strings.Join(c.want, "\n")+"\n:") {
			t.Errorf("%v: exit code %d: %q", c.args, code, stdout)
		}
	}
}

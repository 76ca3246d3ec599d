// Package wild holds job files and command lines of fio in the forms in which people write
// them, in our own words. The tests of package fio say what each becomes, and make
// test-jobfiles compares what fio itself does for each with what storagebench does. It is pure.
package wild

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed cases.txt
var cases string

// Case is one of them.
type Case struct {
	Name string
	// Text of a job file, or of a command line.
	Text      string
	IsCommand bool
	Variables map[string]string
	// Include are files that the text names, by their names there.
	Include map[string]string
	// Before is a file that the author has already, and its size as fio has it.
	Before, BeforeSize string
	// Timed reports that time decides how much is done.
	Timed bool
}

// Cases returns all of them.
func Cases() ([]Case, error) {
	var all []Case
	for _, block := range strings.Split("\n"+cases, "\n=== ")[1:] {
		c, err := read(block)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func read(block string) (Case, error) {
	name, rest, _ := strings.Cut(block, "\n")
	c := Case{Name: name, Variables: map[string]string{}, Include: map[string]string{}}
	for _, part := range strings.Split("\n"+rest, "\n--- ")[1:] {
		head, text, _ := strings.Cut(part, "\n")
		kind, argument, _ := strings.Cut(head, " ")
		switch kind {
		case "job", "command":
			c.Text, c.IsCommand = text, kind == "command"
		case "env":
			for pair := range strings.FieldsSeq(argument) {
				key, value, _ := strings.Cut(pair, "=")
				c.Variables[key] = value
			}
		case "include":
			c.Include[argument] = text
		case "pre":
			c.Before, c.BeforeSize, _ = strings.Cut(argument, " ")
		case "time":
			c.Timed = true
		default:
			return c, fmt.Errorf("wild: case %s: %q", name, head)
		}
	}
	if c.Text == "" {
		return c, fmt.Errorf("wild: case %s has no text", name)
	}
	return c, nil
}

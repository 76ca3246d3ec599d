package markdown

import (
	"regexp"
	"strings"
)

// Block is a block of code.
type Block struct {
	// Line of the page on which its fence begins, from 1.
	Line int
	// Language that the fence names, or nothing.
	Language string
	// Text without the indentation of the fence.
	Text string
}

var fence = regexp.MustCompile("^( *)```([a-z]*)$")

// Blocks returns the blocks of a page, in their order. One without an end goes to the page's end.
func Blocks(page string) (blocks []Block) {
	open, indentation := false, ""
	for i, line := range strings.Split(page, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case match != nil && !open:
			open, indentation = true, match[1]
			blocks = append(blocks, Block{Line: i + 1, Language: match[2]})
		case match != nil:
			open = false
		case open:
			last := &blocks[len(blocks)-1]
			last.Text += strings.TrimPrefix(line, indentation) + "\n"
		}
	}
	return blocks
}

// Script returns the commands of a block: all of it for sh, and what follows a prompt for console, in
// which the rest is output. Other languages have none.
func (b Block) Script() string {
	switch b.Language {
	case "sh":
		return b.Text
	case "console":
		var script strings.Builder
		for line := range strings.Lines(b.Text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				script.WriteString(command)
			}
		}
		return script.String()
	default:
		return ""
	}
}

// Manifests returns the documents of a block of YAML.
func (b Block) Manifests() []string {
	if b.Language != "yaml" {
		return nil
	}
	return strings.Split(b.Text, "\n---\n")
}

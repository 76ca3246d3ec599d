package importer

import (
	"regexp"
	"strings"
)

var (
	// values are strings of JSON: of a key, or in a line of an array.
	values = regexp.MustCompile(`(?m)(?::[ \t]*|^[ \t]*)"((?:[^"\\\n]|\\.)*)"[ \t]*[,}\]]?`)
	// pieces are the strings of a program that puts a text together line by line.
	pieces = regexp.MustCompile(`(?m)^[ \t]*(?:[a-zA-Z_.+=(]{1,40}[ \t]*)?(?:'((?:[^'\\\n]|\\.)*)\\n'|"((?:[^"\\\n]|\\.)*)\\n")[ \t]*[+,.;\\)]{0,3}[ \t]*$`)
	// unescape undoes the escapes that are also in strings within strings.
	unescape = strings.NewReplacer(`\\n`, "\n", `\n`, "\n", `\\t`, "\t", `\t`, "\t", `\\"`, `"`, `\"`, `"`, `\\\`, "")
)

// inStrings reports whether a text has the tool's output within strings of JSON, or of a program.
func (p parser) inStrings(text []byte) bool {
	const most = 1 << 20
	head := string(text[:min(len(text), most)])
	for _, m := range values.FindAllStringSubmatch(head, -1) {
		if inner := unescape.Replace(m[1]); inner != "" && p.looksLike(inner) {
			return true
		}
	}
	const several = 4 // lines in one
	for line := range strings.Lines(head) {
		if strings.Count(line, `\n`) >= several && p.looksLike(unescape.Replace(line)) {
			return true
		}
	}
	var joined strings.Builder
	for _, m := range pieces.FindAllStringSubmatch(head, -1) {
		joined.WriteString(unescape.Replace(m[1]+m[2]) + "\n")
	}
	return p.looksLike(joined.String())
}

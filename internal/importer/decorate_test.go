package importer

import (
	"encoding/binary"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// eachLine decorates the lines of a text one by one.
func eachLine(decorate func(i int, line string) string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		i := 0
		for line := range strings.Lines(text) {
			b.WriteString(decorate(i, strings.TrimRight(line, "\r\n")) + "\n")
			i++
		}
		return b.String()
	}
}

func prefixed(mark string) func(string) string {
	return eachLine(func(_ int, line string) string { return strings.TrimRight(mark+line, " ") })
}

// stamped puts a time before each line.
func stamped(format string) func(string) string {
	const minute = 60
	return eachLine(func(i int, line string) string { return fmt.Sprintf(format, i%minute) + line })
}

func in16(order binary.ByteOrder, mark string) func(string) string {
	return func(text string) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune(mark + text)) {
			b := make([]byte, 2)
			order.PutUint16(b, unit)
			out = append(out, b...)
		}
		return string(out)
	}
}

var quotedText = regexp.MustCompile(`"([^"\n]*)"`)

// decorations are what happens to texts on their way.
var decorations = map[string]func(string) string{
	"as it is":           func(s string) string { return s },
	"quoted":             prefixed("> "),
	"quoted twice":       prefixed("> > "),
	"quoted tightly":     prefixed(">> "),
	"in a fence":         func(s string) string { return "```text\n" + s + "```\n" },
	"indented":           prefixed("    "),
	"CRLF":               func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n") },
	"CR":                 func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r") },
	"a mark":             func(s string) string { return "\ufeff" + s },
	"UTF-16LE":           in16(binary.LittleEndian, "\ufeff"),
	"UTF-16BE":           in16(binary.BigEndian, "\ufeff"),
	"UTF-16 unmarked":    in16(binary.LittleEndian, ""),
	"prompts":            func(s string) string { return "[root@box ~]# cat it\n" + s + "[root@box ~]# exit\n" },
	"times":              func(s string) string { return s + "\nreal\t0m54.1s\nuser\t0m1.0s\nsys\t0m54.0s\n" },
	"a page":             func(s string) string { return "<html><body><pre>" + html.EscapeString(s) + "</pre></body></html>\n" },
	"entities":           html.EscapeString,
	"colours":            eachLine(func(i int, line string) string { return fmt.Sprintf("\x1b[%dm%s\x1b[0m", 31+i%7, line) }),
	"no-break spaces":    func(s string) string { return strings.ReplaceAll(s, "  ", "\u00a0 ") },
	"Latin-1":            func(s string) string { return "caf\xe9\n\n" + s },
	"blank lines":        eachLine(func(_ int, line string) string { return line + "\n" }),
	"trailing blanks":    eachLine(func(_ int, line string) string { return line + "   " }),
	"tabs":               eachLine(func(_ int, line string) string { return tabbed(line) }),
	"logs of containers": prefixed("2024-05-01T10:00:00.123456789Z stdout F "),
	"logs with times":    prefixed("[2024-05-01 10:00:00] "),
	"docker compose":     prefixed("bench-1  | "),
	"comments":           prefixed("// "),
	"comments of Go":     prefixed("//\t"),
	"comments of Rust":   prefixed("            /// "),
	"hashes":             prefixed("#   "),
	"bars":               eachLine(func(_ int, line string) string { return "| " + line + " |" }),
	"boxes":              eachLine(func(_ int, line string) string { return "│ " + line + " │" }),
	"a board":            func(s string) string { return "[CODE]" + s + "[/CODE]\n" },
	"wrapped at 72":      wrapped(72),
	"wrapped at 76":      wrapped(76),
	"wrapped and quoted": func(s string) string { return prefixed("> ")(wrapped(70)(s)) },
	"quoted and wrapped": func(s string) string { return wrapped(74)(prefixed("> ")(s)) },
	"journald":           stamped("Nov 28 09:00:%02d box bench[12]: "),
	"journald, ISO":      stamped("2026-11-28T09:00:%02d+0100 box bench[12]: "),
	"syslog":             stamped("<14>1 2026-11-28T09:00:%02dZ box bench 12 - - "),
	"ts":                 stamped("Nov 28 09:00:%02d "),
	"clock":              stamped("09:00:%02d "),
	"clock in brackets":  stamped("[09:00:%02d] "),
	"seconds since boot": stamped("[   12.0034%02d] "),
	"seconds since 1970": stamped("17642040%02d.250 "),
	"Actions":            stamped("2026-11-28T09:00:%02d.1234567Z "),
	"Jenkins":            stamped("[2026-11-28T09:00:%02d.123Z] "),
	"levels":             stamped("2026-11-28 09:00:%02d,123 INFO "),
	"levels and threads": stamped("2026-11-28 09:00:%02d,123 INFO  [main] - "),
	"klog":               stamped("I1128 09:00:%02d.123456       1 bench.go:12] "),
	"cat -n":             eachLine(func(i int, line string) string { return fmt.Sprintf("%6d\t%s", i+1, line) }),
	"grep -n":            eachLine(func(i int, line string) string { return fmt.Sprintf("%d:%s", i+1, line) }),
	"less -N":            eachLine(func(i int, line string) string { return fmt.Sprintf("%7d %s", i+1, line) }),
	"grep":               prefixed("results/out.txt:"),
	"grep -Hn":           eachLine(func(i int, line string) string { return fmt.Sprintf("out.txt:%d:%s", i+1, line) }),
	"a diff":             prefixed("+"),
	"a removal":          prefixed("-"),
	"log of Go":          stamped("2026/11/28 09:00:%02d "),
	"log of Python":      stamped("2026-11-28 09:00:%02d,123 - bench - INFO - "),
	"root of Python":     prefixed("INFO:root:"),
	"zap":                stamped("2026-11-28T09:00:%02d.123Z\tINFO\tbench/run.go:42\t"),
	"log of Java":        stamped("09:00:%02d.123 [main] INFO  com.example.Bench - "),
	"GitLab":             stamped("2026-11-28T09:00:%02d.123456Z 00O "),
	"Buildkite":          stamped("\x1b_bk;t=17640042000%02d\x07"),
	"American dates":     stamped("11/28/2026 09:00:%02d AM "),
	"dmesg -T":           stamped("[Sat Nov 28 09:00:%02d 2026] "),
	"seconds":            eachLine(func(i int, line string) string { return fmt.Sprintf("%8.3f  %s", float64(i)*1.37, line) }),
	"a pod":              prefixed("bench-7d9f8-abcde bench "),
	"a log group":        prefixed("/batch/bench bench/default/17 2026-11-28T09:00:00.000Z "),
	"initials":           prefixed("JD>"),
	"comments of SQL":    prefixed("-- "),
	"tight hashes":       prefixed("#"),
	"a comment of C":     func(s string) string { return "/*\n" + prefixed(" * ")(s) + " */\n" },
	"twice escaped":      func(s string) string { return html.EscapeString(html.EscapeString(s)) },
	"curly quotes":       func(s string) string { return quotedText.ReplaceAllString(s, "“$1”") },
	"wide blanks":        func(s string) string { return strings.ReplaceAll(s, "  ", "\u3000") },
	"more": func(s string) string {
		first, rest, _ := strings.Cut(s, "\n")
		return first + "\n--More--(40%)\n" + rest
	},
	"a mail": func(s string) string {
		return "Hello,\n\nhere is what I have got.\n\n" + prefixed("> ")(s) + "\nRegards,\nme\n"
	},
	"prose": func(s string) string {
		return "I ran this on the new machine, and it was\nfaster than expected:\n\n" + s + "\nWhat do you think?\n"
	},
}

// wrapped breaks lines as mail programs do: at blanks, and words that are longer anywhere.
func wrapped(width int) func(string) string {
	return eachLine(func(_ int, line string) string {
		var lines []string
		for len(line) > width {
			at := strings.LastIndexByte(line[:width+1], ' ')
			if at <= 0 || strings.TrimSpace(line[:at]) == "" {
				at = width
			}
			lines = append(lines, strings.TrimRight(line[:at], " "))
			line = strings.TrimLeft(line[at:], " ")
		}
		return strings.Join(append(lines, line), "\n")
	})
}

// tabbed writes blanks as tabs, like the program unexpand.
func tabbed(line string) string {
	const stop = 8
	var b strings.Builder
	for len(line) >= stop && strings.Trim(line[:stop], " ") == "" {
		b.WriteString("\t")
		line = line[stop:]
	}
	return b.String() + line
}

// numbers counts what the tables of a text say, before repeats are pooled: metric and value.
func numbers(tables []table) map[string]int {
	out := map[string]int{}
	for _, t := range tables {
		for name, m := range t.measurement.Metrics {
			out[fmt.Sprintf("%s=%.12g", name, m.Value)]++
		}
		for _, p := range t.measurement.Parts {
			for name, m := range p.Metrics {
				out[fmt.Sprintf("%s: %s=%.12g", p.Name, name, m.Value)]++
			}
		}
	}
	return out
}

func readText(tool, name, text string) ([]table, error) {
	for _, p := range parsers() {
		if p.tool == tool {
			tables, _, err := p.read(File{Name: name, Content: []byte(text)})
			return tables, err
		}
	}
	return nil, fmt.Errorf("no parser for %s", tool)
}

// plainTexts returns the texts that are read and are UTF-8, by name.
func plainTexts(tb testing.TB) map[string]string {
	tb.Helper()
	out := map[string]string{}
	for name, content := range corpusFiles(tb) {
		if _, err := readText(toolOf(name), name, string(content)); err == nil && !strings.Contains(string(content), "\x00") {
			out[name] = string(content)
		}
	}
	return out
}

// Whatever is put around a text, each of its numbers is read, and no other; or the text is
// refused.
func TestADecoratedTextHasTheSameNumbersOrIsRefused(t *testing.T) {
	texts, refused := plainTexts(t), map[string]int{}
	for name, text := range texts {
		plain, err := readText(toolOf(name), name, text)
		if err != nil {
			t.Fatal(err)
		}
		want := numbers(plain)
		for how, decorate := range decorations {
			got, err := readText(toolOf(name), name, decorate(text))
			if err != nil {
				clearly(t, name, err)
				refused[how]++
				continue
			}
			if !maps.Equal(want, numbers(got)) || len(got) != len(plain) {
				t.Errorf("%s, %s: %d tables, want %d:\n%s", name, how, len(got), len(plain), difference(want, numbers(got)))
			}
		}
	}
	const tolerable, tolerableWrapped = 10, 30 // percent
	for how, n := range refused {
		t.Logf("%s: %d of %d texts are refused", how, n, len(texts))
		most := tolerable
		if strings.Contains(how, "wrapped") {
			most = tolerableWrapped // JSON within a string, and tables with empty columns
		}
		if n*100 > most*len(texts) {
			t.Errorf("%s: %d of %d texts are refused", how, n, len(texts))
		}
	}
}

// difference lists some of what one has and the other has not.
func difference(want, got map[string]int) string {
	var lines []string
	for _, number := range slices.Sorted(maps.Keys(want)) {
		if got[number] != want[number] {
			lines = append(lines, fmt.Sprintf("want %d × %s, got %d", want[number], number, got[number]))
		}
	}
	for _, number := range slices.Sorted(maps.Keys(got)) {
		if want[number] == 0 {
			lines = append(lines, "not expected: "+number)
		}
	}
	const most = 6
	return strings.Join(lines[:min(most, len(lines))], "\n")
}

// Two texts in one file have the numbers of both.
func TestTextsThatArePutTogetherHaveTheNumbersOfBoth(t *testing.T) {
	texts := plainTexts(t)
	names := slices.Sorted(maps.Keys(texts))
	for i, first := range names {
		second := names[(i+1)%len(names)]
		if toolOf(first) != toolOf(second) || strings.Contains(first+second, "status-interval") {
			continue
		}
		for how, between := range map[string]string{"at once": "", "a line": "\n", "an ellipsis": "\n...\n\n", "prompts": "$ cat other\n"} {
			a, _ := readText(toolOf(first), first, texts[first])
			b, _ := readText(toolOf(second), second, texts[second])
			both, err := readText(toolOf(first), first, texts[first]+between+texts[second])
			if err != nil {
				clearly(t, first, err)
				t.Logf("%s and %s, %s: %v", first, second, how, err)
				continue
			}
			own, _ := unquoted(slices.Concat(a, b)) // one of the second may be in the first, and count once
			if want, got := numbers(slices.Concat(a, b)), numbers(both); !maps.Equal(want, got) && !maps.Equal(numbers(own), got) {
				t.Errorf("%s and %s, %s:\n%s", first, second, how, difference(want, got))
			}
		}
	}
}

// A text that was cut has no number that the whole text does not have.
func TestATextThatWasCutHasNoOtherNumbers(t *testing.T) {
	for name, text := range plainTexts(t) {
		if strings.Contains(name, "status-interval") {
			continue // an earlier state is a whole document
		}
		whole, err := readText(toolOf(name), name, text)
		if err != nil {
			t.Fatal(err)
		}
		want := numbers(whole)
		const steps = 150
		for end := 1; end < len(text); end += 1 + len(text)/steps {
			tables, err := readText(toolOf(name), name, text[:end])
			if err != nil {
				clearly(t, name, err)
				continue
			}
			for number := range numbers(tables) {
				if want[number] == 0 && !ofLargest(number, name) {
					t.Errorf("%s cut at %d of %d: %s", name, end, len(text), number)
				}
			}
		}
	}
}

// ofLargest reports whether a number of iozone's is that of the largest file in the text, which
// is another one in a shorter text.
func ofLargest(number, name string) bool {
	return toolOf(name) == "iozone" && !strings.Contains(number, "iB.")
}

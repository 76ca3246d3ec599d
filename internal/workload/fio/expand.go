package fio

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/workload"
)

// maxExpanded bounds a value with its variables replaced.
const maxExpanded = 4 << 10

// keywords are fio's own variables.
var keywords = []string{"ncpus", "mb_memory", "pagesize"}

// variables replaces variables in values, so that fio never sees one: it would read its
// environment, or start a shell.
type variables struct {
	given   map[string]string
	machine workload.Machine
	// shell also replaces $NAME and ${NAME:-default}, as in a command line.
	shell bool
	used  map[string]bool
}

// expand returns the value without variables. calculated reports that fio would calculate
// with it, because one of its keywords is in it.
func (v *variables) expand(option, value string) (out string, calculated bool, err error) {
	var b strings.Builder
	for value != "" {
		before, rest, found := strings.Cut(value, "$")
		b.WriteString(before)
		if !found {
			break
		}
		if v.literal(option, rest) {
			b.WriteByte('$')
			value = rest
			continue
		}
		name, fallback, after, err := v.reference(rest)
		if err != nil {
			return "", false, err
		}
		replacement, err := v.lookUp(name, fallback)
		if err != nil {
			return "", false, err
		}
		calculated = calculated || slices.Contains(keywords, name)
		b.WriteString(replacement)
		if b.Len()+len(after) > maxExpanded {
			return "", false, fmt.Errorf("the value with its variables is longer than %d bytes", maxExpanded)
		}
		value = after
	}
	return b.String(), calculated, nil
}

// formatWords are what fio replaces in filename_format, and nowhere else.
var formatWords = []string{"jobname", "jobnum", "filenum", "clientuid"}

// literal reports whether fio leaves a $ as it is in the name of a file, as it does with all but ${NAME} and its
// keywords. On a command line a shell has looked for variables before.
func (v *variables) literal(option, rest string) bool {
	begins := func(word string) bool { return strings.HasPrefix(rest, word) }
	switch {
	case begins("{") || slices.ContainsFunc(keywords, begins):
		return false
	case option == "filename_format":
		return !v.shell || slices.ContainsFunc(formatWords, begins)
	case option == "filename" || option == "directory":
		return !v.shell || slices.ContainsFunc(formatWords, func(word string) bool { return begins(word) && v.given[word] == "" })
	}
	return false
}

// missingError is a variable without a value.
type missingError struct{ name string }

func (e *missingError) Error() string {
	return fmt.Sprintf("the variable %s has no value", clip(e.name))
}

// ofFormat reports whether it is a word of filename_format.
func (e *missingError) ofFormat() bool { return slices.Contains(formatWords, e.name) }

// reference splits what follows a $: the variable's name, its default, and the rest.
func (v *variables) reference(rest string) (name string, fallback *string, after string, err error) {
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		name, after, ok = strings.Cut(inner, "}")
		if !ok {
			return "", nil, "", fmt.Errorf("${ has no }")
		}
		if bare, value, has := strings.Cut(name, ":-"); has && v.shell {
			name, fallback = bare, &value
		}
		if !isVariable(name) {
			return "", nil, "", fmt.Errorf("${%s} is not the name of a variable", clip(name))
		}
		return name, fallback, after, nil
	}
	for _, k := range keywords {
		if after, ok := strings.CutPrefix(rest, k); ok {
			return k, nil, after, nil
		}
	}
	end := 0
	for end < len(rest) && strings.IndexByte(letters+digits+"_", rest[end]) >= 0 {
		end++
	}
	if name = rest[:end]; !v.shell || !isVariable(name) {
		return "", nil, "", fmt.Errorf("$%s is not a variable that fio replaces: write ${NAME}, or $ncpus, $mb_memory or $pagesize", clip(name))
	}
	return name, nil, rest[end:], nil
}

func isVariable(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, letters+digits+"_") == "" && !strings.ContainsRune(digits, rune(name[0]))
}

// lookUp returns the value of a variable: the user's own first, then those of fio.
func (v *variables) lookUp(name string, fallback *string) (string, error) {
	v.used[name] = true
	if value, ok := v.given[name]; ok {
		return value, nil
	}
	switch {
	case name == "ncpus":
		return fmt.Sprint(max(1, v.machine.CPUs)), nil
	case name == "mb_memory":
		return fmt.Sprint(max(1, v.machine.Memory>>20)), nil
	case name == "pagesize":
		return fmt.Sprint(pageSize), nil
	case fallback != nil:
		return *fallback, nil
	}
	return "", &missingError{name}
}

// check finds what is wrong with the variables themselves: names that are none, and those
// that nothing uses, which are misspelt.
func (v *variables) check(complete bool) []*lineError {
	var problems []*lineError
	var used []string
	for name := range v.used {
		used = append(used, name)
	}
	slices.Sort(used)
	for _, name := range sortedKeys(v.given) {
		switch {
		case !isVariable(name):
			problems = append(problems, &lineError{field: fieldVariables, message: fmt.Sprintf("%q is not the name of a variable", clip(name)), remedy: "use letters, digits and _"})
		case !v.used[name] && complete:
			remedy := "remove it"
			if suggest.Nearest(name, used) != "" {
				remedy = suggest.Remedy(name, used)
			}
			problems = append(problems, &lineError{field: fieldVariables + "." + name, message: "the job file does not use this variable", remedy: remedy})
		}
	}
	return problems
}

// calculate evaluates a whole expression with + - * / and parentheses over numbers with
// fio's suffixes. Division rounds down.
func calculate(text string) (uint64, error) {
	e := &expression{rest: text}
	n, err := e.sum(0)
	if err == nil && e.next() != 0 {
		err = fmt.Errorf("%q is left over", clip(e.rest))
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not an expression like (2*1g)/4: %w", clip(text), err)
	}
	return n, nil
}

type expression struct{ rest string }

// next is the next character, or 0.
func (e *expression) next() byte {
	e.rest = strings.TrimLeft(e.rest, " \t")
	if e.rest == "" {
		return 0
	}
	return e.rest[0]
}

func (e *expression) sum(depth int) (uint64, error) {
	n, err := e.product(depth)
	for err == nil && (e.next() == '+' || e.next() == '-') {
		minus := e.next() == '-'
		e.rest = e.rest[1:]
		var other uint64
		other, err = e.product(depth)
		switch {
		case !minus:
			n = workload.Sum(n, other)
		case other > n:
			return 0, fmt.Errorf("it is less than 0")
		default:
			n -= other
		}
	}
	return n, err
}

func (e *expression) product(depth int) (uint64, error) {
	n, err := e.factor(depth)
	for err == nil && (e.next() == '*' || e.next() == '/') {
		divide := e.next() == '/'
		e.rest = e.rest[1:]
		var other uint64
		other, err = e.factor(depth)
		switch {
		case !divide:
			n = workload.Product(n, other)
		case err != nil: // of the divisor
		case other == 0:
			return 0, fmt.Errorf("it divides by 0")
		default:
			n /= other
		}
	}
	return n, err
}

func (e *expression) factor(depth int) (uint64, error) {
	if depth > 16 {
		return 0, fmt.Errorf("there are too many parentheses")
	}
	if e.next() == '(' {
		e.rest = e.rest[1:]
		n, err := e.sum(depth + 1)
		if err != nil {
			return 0, err
		}
		if e.next() != ')' {
			return 0, fmt.Errorf("a ) is missing")
		}
		e.rest = e.rest[1:]
		return n, nil
	}
	e.next()
	end := 0
	for end < len(e.rest) && strings.IndexByte(letters+digits, e.rest[end]) >= 0 {
		end++
	}
	word := e.rest[:end]
	e.rest = e.rest[end:]
	return parseSize(word)
}

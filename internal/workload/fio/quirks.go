package fio

import (
	"slices"
	"strings"
)

// What fio takes beyond its manual, and people write.

// unset are options of which fio takes 0 for not given.
var unset = []string{"size", "io_size", "number_ios", "loops", "openfiles", "zonesize", "zonerange", "iodepth_low", "verify_backlog", "verify_backlog_batch", "iomem_align", "rate", "rate_iops", "buffer_compress_chunk", "thinktime", "latency_target"}

// unsets reports whether a value only says that the option is not given.
func (a allowed) unsets(value string) bool {
	if !slices.Contains(unset, a.name) {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimLeft(value, ","), ",") {
		if zero := strings.TrimRight(part, letters); zero == "" || strings.Trim(zero, "0") != "" {
			return false
		}
	}
	return true
}

// separate rewrites a value that fio splits at - and : as it does at commas. People mean a range
// by bs=4k-16k, and fio takes a size for reads and one for writes.
func (r *reader) separate(o *option) {
	a := r.known[o.name]
	parts := strings.FieldsFunc(o.value, func(c rune) bool { return c == '-' || c == ':' })
	if len(parts) < 2 || strings.Contains(o.value, ",") || len(strings.Join(parts, "-")) != len(o.value) {
		return
	}
	switch {
	case len(parts) == 2 && slices.Contains([]string{"bs", "blockalign", "rate"}, a.name):
		value := strings.Join(parts, ",")
		if _, err := a.syntax.check(value); err != nil {
			return
		}
		hint := ""
		if a.name == "bs" {
			hint = "; for sizes of a range write bsrange"
		}
		r.change(o.place, "%s: fio takes %s for reads and %s for writes and trims%s", written(*o), clip(parts[0]), clip(parts[1]), hint)
		o.value = value
	case a.name == "size" || a.name == "io_size":
		last := parts[len(parts)-1]
		if _, err := a.syntax.check(last); err != nil {
			return
		}
		r.change(o.place, "%s: fio takes the last one, %s", written(*o), clip(last))
		o.value = last
	}
}

// minAbbreviation is how many letters of an option's name are enough, if no other begins so.
const minAbbreviation = 3

// whole returns the name that a word of a command line abbreviates, as getopt does it, or the
// word itself.
func (c *commandLine) whole(name string) string {
	if len(name) < minAbbreviation {
		return name
	}
	left, refused := leavesOut(), refusals()
	var found []string
	add := func(candidate string) {
		if strings.HasPrefix(candidate, name) && !slices.Contains(found, candidate) {
			found = append(found, candidate)
		}
	}
	for candidate := range c.known {
		add(candidate)
	}
	for candidate := range left {
		add(candidate)
	}
	for candidate := range refused {
		add(candidate)
	}
	for candidate := range ofProgram {
		add(candidate)
	}
	for _, candidate := range namesAndTargets {
		add(candidate)
	}
	if len(found) != 1 {
		return name // it is one of them, or it stands for several
	}
	return found[0]
}

// namesAndTargets are options that have no syntax of ours.
var namesAndTargets = []string{"filename", "directory", "filename_format", "name", "description", "wait_for", "section", kbBase}

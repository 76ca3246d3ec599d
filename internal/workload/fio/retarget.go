package fio

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

// maxNames bounds the files that a job names.
const maxNames = 256

// retarget replaces what jobs say of where they work: the target is the directory or the
// device. Names of files stay apart from each other, as their paths are: jobs share a file
// if they did before.
func (r *reader) retarget() {
	if r.mode == trial.Block {
		for i := range r.jobs {
			r.onTheDevice(&r.jobs[i])
		}
		return
	}
	f := fileNamer{given: map[string]string{}, taken: map[string]bool{}, last: map[string]int{}}
	for _, j := range r.jobs {
		if _, elsewhere := j.raws["directory"]; elsewhere {
			continue
		}
		for _, name := range namesOf(j.raws["filename"].value) {
			f.reserve(name)
		}
	}
	for i := range r.jobs {
		r.inTheDirectory(&r.jobs[i], &f)
	}
	r.shareNames()
}

func (r *reader) onTheDevice(j *job) {
	if o, ok := j.raws["filename"]; ok {
		what := "the target's device"
		if n := len(namesOf(o.value)); n > 1 {
			what = fmt.Sprintf("the target's device, one in place of %d", n)
		}
		r.change(o.place, "%s is left out: %s", written(o), what)
	}
	for _, name := range []string{"directory", "filename_format"} {
		if o, ok := j.raws[name]; ok {
			r.change(o.place, "%s is left out: the target is a device", written(o))
		}
	}
	if o, ok := j.raws["filesize"]; ok && !j.has("size") {
		if n, err := parseSize(o.value); err == nil && n > 0 && n <= maxSize {
			j.options["size"] = strconv.FormatUint(n, 10)
			r.change(o.place, "%s is the size on the device", written(o))
		}
	}
}

func (r *reader) inTheDirectory(j *job, f *fileNamer) {
	dir, elsewhere := j.raws["directory"]
	if elsewhere {
		r.change(dir.place, "%s is left out: the target's directory", written(dir))
	}
	o, named := j.raws["filename"]
	if !named {
		r.format(j, f)
		return
	}
	names := namesOf(o.value)
	if len(names) > maxNames {
		r.problem(&lineError{place: o.place, message: fmt.Sprintf("%d files are more than %d", len(names), maxNames), remedy: "use nrfiles"})
		names = names[:maxNames]
	}
	changed := false
	for i, name := range names {
		key := name
		if elsewhere {
			key = path.Join(dir.value, name)
		}
		own := f.name(key)
		changed = changed || own != name
		names[i] = own
	}
	if len(names) == 0 {
		r.problem(&lineError{place: o.place, message: fmt.Sprintf("filename=%s names no file", clip(o.value)), remedy: "remove it"})
		return
	}
	j.options["filename"], j.at["filename"] = strings.Join(names, ":"), o.place
	if changed {
		r.change(o.place, "%s: %s in the target's directory", written(o), clip(j.options["filename"]))
	}
	if j.clones() > 1 && strings.Contains(o.value, "$jobnum") {
		r.change(o.place, "all clones of job %s use this file: fio replaces $jobnum only in filename_format", j.name)
	}
	if j.has("nrfiles") {
		delete(j.options, "nrfiles")
		r.change(j.at["nrfiles"], "nrfiles of job %s is left out: the number of files is that of the names", j.name)
	}
}

// format does what filename_format asks for. Clones share files if it has no $jobnum.
func (r *reader) format(j *job, f *fileNamer) {
	o, ok := j.raws["filename_format"]
	if !ok {
		return
	}
	ofClone := strings.Contains(o.value, "$jobnum") || strings.Contains(o.value, "$clientuid") && j.clones() == 1
	if ofClone {
		if !strings.Contains(o.value, "$filenum") && j.files() > 1 {
			delete(j.options, "nrfiles")
			r.change(j.at["nrfiles"], "nrfiles of job %s is left out: %s has one name for all files of a clone, so that each clone has one file", j.name, written(o))
		}
		return // see shareNames
	}
	n := j.files()
	if !strings.Contains(o.value, "$filenum") {
		n = 1
	}
	if n > maxNames {
		r.problem(&lineError{place: o.place, message: fmt.Sprintf("clones share %d files by filename_format, more than %d", n, maxNames), remedy: "lower nrfiles, or add $jobnum to filename_format"})
		return
	}
	names := make([]string, n)
	for i := range names {
		names[i] = f.name(strings.NewReplacer("$jobname", j.section, "$filenum", strconv.Itoa(i), "$jobnum", "0", "$clientuid", "").Replace(o.value))
	}
	j.options["filename"], j.at["filename"] = strings.Join(names, ":"), o.place
	delete(j.options, "nrfiles")
	r.change(o.place, "%s: %s in the target's directory", written(o), clip(j.options["filename"]))
	if j.clones() > 1 {
		r.change(o.place, "all clones of job %s use these files; fio 3.33 itself gives them to the first only", j.name)
	}
}

// fileNamer gives every path a name of its own in the target's directory.
type fileNamer struct {
	given map[string]string // by path
	taken map[string]bool
	last  map[string]int // number given, or found taken, by base: those below it are taken, too
}

// reserve gives a plain name to the file that has it already.
func (f *fileNamer) reserve(name string) {
	if name == safeFile(name) {
		f.given[name], f.taken[name] = name, true
	}
}

func (f *fileNamer) name(of string) string {
	if own, ok := f.given[of]; ok {
		return own
	}
	base := safeFile(of)
	own := base
	for f.taken[own] {
		f.last[base] = max(1, f.last[base]) + 1
		own = base + "-" + strconv.Itoa(f.last[base])
	}
	f.given[of], f.taken[own] = own, true
	return own
}

// safeFile is the last element of a path, with safe characters only. One that begins with a
// dot is for files of our own.
func safeFile(name string) string {
	base := strings.TrimLeft(strings.Map(func(c rune) rune {
		if strings.ContainsRune(letters+digits+"_.+-", c) {
			return c
		}
		return '_'
	}, path.Base(name)), ".-")
	if base = base[:min(len(base), 100)]; strings.Trim(base, "_.") == "" {
		return "file"
	}
	return base
}

package fio

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// job is one job with everything that [global] gave it. Values are canonical.
type job struct {
	name    string
	line    int
	options map[string]string
	// found is what each trial finds of the job's files, and why.
	found result.FileChoice
	// size that was chosen for a job that gives none, or nil.
	size *result.SizeChoice
	// offer is the rate that is offered in an open loop, or nil.
	offer *offer
}

// resolve turns a configuration into jobs. name is what the job of parameters is
// called. It is pure.
func resolve(c config, mode trial.Mode, name string) ([]job, error) {
	jobs, err := read(c, mode, name)
	if err != nil {
		return nil, err
	}
	threads, files := uint64(0), uint64(0)
	for _, j := range jobs {
		j.implyTimeBased()
		if err := j.checkWhole(mode); err != nil {
			return nil, asFailure(err, c.field())
		}
		threads += j.clones()
		files += j.clones() * j.files()
	}
	if threads > maxThreads {
		return nil, invalid(c.field(), fmt.Sprintf("the jobs have %d clones in total, more than the limit of %d", threads, maxThreads), "lower numjobs")
	}
	if files > maxAllFiles {
		return nil, invalid(c.field(), fmt.Sprintf("the jobs have %d files in total, more than the limit of %d", files, maxAllFiles), "lower nrfiles or numjobs")
	}
	if err := c.offerRate(jobs); err != nil {
		return nil, err
	}
	return jobs, chooseFiles(c, jobs, mode)
}

func (c config) field() string {
	switch {
	case c.Preset != "":
		return fieldPreset
	case c.JobFile != "":
		return fieldJobFile
	default:
		return fieldParameters
	}
}

func read(c config, mode trial.Mode, name string) ([]job, error) {
	known := newCatalogue()
	if len(c.Parameters) > 0 {
		return readParameters(c.Parameters, known, mode, name)
	}
	text := c.JobFile
	if c.Preset != "" {
		p, err := findPreset(c.Preset)
		if err != nil {
			return nil, err
		}
		if err := p.checkMode(mode); err != nil {
			return nil, err
		}
		text = p.text
	}
	sections, err := parse(text)
	if err != nil {
		return nil, asFailure(err, c.field())
	}
	if c.Preset != "" {
		sections = known.without(sections, mode)
	}
	return readSections(sections, known, mode, c.field())
}

func readSections(sections []section, known catalogue, mode trial.Mode, field string) ([]job, error) {
	var jobs []job
	defaults := map[string]string{} // a later [global] adds to an earlier one
	for _, s := range sections {
		into := defaults
		if s.name != global {
			into = maps.Clone(defaults)
		}
		for _, o := range s.options {
			if err := known.apply(into, o, mode); err != nil {
				return nil, asFailure(err, field)
			}
		}
		if s.name == global {
			continue
		}
		if i := slices.IndexFunc(jobs, func(j job) bool { return j.name == s.name }); i >= 0 {
			return nil, invalid(field, fmt.Sprintf("line %d: job [%s] is already defined at line %d", s.line, s.name, jobs[i].line), "give each job its own name: results are stored by name")
		}
		jobs = append(jobs, job{name: s.name, line: s.line, options: into})
	}
	if len(jobs) == 0 {
		return nil, invalid(field, "the job file has no job, only [global]", "add a section named after the job, for example [rand-read]")
	}
	return jobs, nil
}

func readParameters(parameters map[string]string, known catalogue, mode trial.Mode, name string) ([]job, error) {
	j := job{name: name, options: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		value := strings.TrimSpace(parameters[key])
		o := option{name: key, value: value, hasValue: value != ""}
		if err := known.apply(j.options, o, mode); err != nil {
			return nil, asFailure(err, fieldParameters+"."+clip(key))
		}
	}
	if _, ok := j.options["rw"]; !ok {
		return nil, invalid(fieldParameters, "rw is missing", "set rw to read, write, randread, randwrite, readwrite, randrw, trim or randtrim")
	}
	j.addDefaults()
	return []job{j}, nil
}

// Defaults of a job that is given by parameters. The size is not among them, as
// it depends on the target; see Prepare.
func (j job) addDefaults() {
	bounded := j.has("runtime") || j.has("time_based") || j.has("loops") || j.has("number_ios") || j.has("io_size")
	if !bounded {
		j.options["runtime"], j.options["time_based"] = "30000000us", "1"
	}
	if !j.has("direct") && !j.has("buffered") {
		j.options["direct"] = "1"
	}
	if !j.has("bs") && !j.has("bsrange") && !j.has("bssplit") {
		j.options["bs"] = "4096"
	}
	if !j.has("ioengine") {
		j.options["ioengine"] = "libaio"
	}
}

// implyTimeBased makes a job run for its runtime, as people mean it: fio itself ends it when
// size is done, which may be after a few milliseconds. A job that says how much it does, or
// that it is not time_based, still ends when that is done. So does one that verifies, which
// reads back what it wrote once.
func (j job) implyTimeBased() {
	switch {
	case j.options["time_based"] == "0":
		delete(j.options, "time_based")
	case j.has("runtime") && !j.endsByAmount():
		j.options["time_based"] = "1"
	}
}

// endsByAmount reports whether an option says how much the job does, beside the size of
// its files.
func (j job) endsByAmount() bool {
	return slices.ContainsFunc([]string{"loops", "number_ios", "io_size", "verify"}, j.has)
}

// apply checks one option and puts its canonical value into the job.
func (c catalogue) apply(into map[string]string, o option, mode trial.Mode) error {
	a, ok := c[o.name]
	if !ok {
		return c.refuse(o)
	}
	if a.mode != "" && a.mode != mode {
		return &lineError{o.line, fmt.Sprintf("%s works only on targets with volume mode %s, but a target has %s", o.name, a.mode, mode), "remove " + o.name}
	}
	value := o.value
	if !o.hasValue {
		if a.syntax.bare == "" {
			return &lineError{o.line, o.name + " has no value", "write " + o.name + "=… (" + a.syntax.name + ")"}
		}
		value = a.syntax.bare
	}
	if err := checkCharacters(value); err != nil {
		return &lineError{o.line, o.name + ": " + err.Error(), "write plain values: variables, expressions and quotes are not expanded"}
	}
	canonical, err := a.syntax.check(value)
	if errors.Is(err, errKubernetesSuffix) {
		return &lineError{o.line, o.name + ": " + err.Error(), fmt.Sprintf("write %sB for powers of 1024", value)}
	}
	if choice, ok := errors.AsType[*choiceError](err); ok {
		return &lineError{o.line, o.name + ": " + err.Error(), suggest.Remedy(choice.given, choice.choices)}
	}
	if err != nil {
		return &lineError{o.line, o.name + ": " + err.Error(), "use: " + a.syntax.name}
	}
	switch {
	case slices.Contains(dropped, a.name):
	case a.syntax.flag && canonical == "0" && a.name != "time_based":
		delete(into, a.name)
	default:
		into[a.name] = canonical
	}
	return nil
}

func (c catalogue) refuse(o option) error {
	if reason := refusals()[o.name]; reason != "" {
		return &lineError{o.line, fmt.Sprintf("the option %s is not allowed: %s", o.name, reason), "remove it"}
	}
	message := fmt.Sprintf("%q is not a fio option that storagebench allows", clip(o.name))
	if suggest.Nearest(o.name, c.names()) != "" {
		return &lineError{o.line, message, suggest.Remedy(o.name, c.names())}
	}
	return &lineError{o.line, message, "remove it; docs/reference/fio-options.md lists those that are allowed"}
}

// checkWhole finds what is wrong with options taken together.
func (j job) checkWhole(mode trial.Mode) error {
	switch {
	case j.on("time_based") && !j.has("runtime"):
		return &lineError{j.line, j.title() + " is time_based and has no runtime", "add runtime=30s"}
	case mode == trial.Filesystem && (strings.HasSuffix(j.options["size"], "%") || strings.HasSuffix(j.options["io_size"], "%")):
		return &lineError{j.line, j.title() + " has a size in percent, but a file has no size before it is written", "give a size such as 10GiB; percentages are for block devices"}
	case mode == trial.Filesystem && j.line > 0 && !j.has("size") && !j.has("filesize"):
		return &lineError{j.line, j.title() + " has no size", "add size=1GiB, or as much as the job needs"}
	case mode == trial.Filesystem && strings.Contains(j.pattern(), "trim"):
		return &lineError{j.line, fmt.Sprintf("%s has rw=%s, which files do not support", j.title(), j.options["rw"]), "trim needs a block device: a target with blockDevice, or volumeMode: Block"}
	case j.has("direct") && j.has("buffered") && j.options["direct"] == j.options["buffered"]:
		return &lineError{j.line, fmt.Sprintf("%s has direct=%s and buffered=%[2]s, which contradict each other", j.title(), j.options["direct"]), "remove one"}
	case j.has("filename") && j.has("nrfiles"):
		return &lineError{j.line, j.title() + " has both filename and nrfiles", "remove one: the number of files is that of the names"}
	case mode == trial.Filesystem && !j.has("filesize") && j.has("size") && number(j.options["size"])/j.files() < j.minBlock():
		return &lineError{j.line, fmt.Sprintf("%s has files of %s and blocks of %s", j.title(), workload.Human(number(j.options["size"])/j.files()), workload.Human(j.minBlock())), "raise size or lower bs"}
	}
	return nil
}

// title is what messages call the job.
func (j job) title() string {
	if j.line == 0 {
		return "the job" // of parameters, which has no name of its own
	}
	return "job " + j.name
}

func (j job) has(name string) bool { _, ok := j.options[name]; return ok }

func (j job) on(name string) bool { return j.options[name] == "1" }

func (j job) clones() uint64 { return max(1, number(j.options["numjobs"])) }

// files of one clone.
func (j job) files() uint64 {
	if names := j.fileNames(); len(names) > 0 {
		return uint64(len(names))
	}
	return max(1, number(j.options["nrfiles"]))
}

func (j job) fileNames() []string {
	if !j.has("filename") {
		return nil
	}
	return strings.Split(j.options["filename"], ":")
}

// pattern is rw, with fio's default and without synonyms.
func (j job) pattern() string {
	switch p := j.options["rw"]; p {
	case "":
		return "read"
	case "rw":
		return "readwrite"
	default:
		return p
	}
}

// reads reports whether the job reads what it did not write.
func (j job) reads() bool {
	return slices.Contains([]string{"read", "randread", "readwrite", "randrw"}, j.pattern())
}

// direct reports whether direct I/O is asked for.
func (j job) direct() bool {
	return j.on("direct") || j.options["buffered"] == "0"
}

// minBlock is the smallest I/O of the job.
func (j job) minBlock() uint64 {
	smallest := uint64(4096)
	first := true
	for _, key := range []string{"bs", "bsrange", "bssplit"} {
		for field := range strings.FieldsFuncSeq(j.options[key], func(r rune) bool { return r == ',' || r == '-' || r == ':' }) {
			bytes, _, _ := strings.Cut(field, "/")
			if n := number(bytes); n > 0 && (first || n < smallest) {
				smallest, first = n, false
			}
		}
	}
	return smallest
}

// defaultName is what fio calls a file of a job without filename.
func (j job) defaultName(clone, file uint64) string {
	return fmt.Sprintf("%s.%d.%d", j.name, clone, file)
}

// engine is ioengine, with fio's default.
func (j job) engine() string {
	if e := j.options["ioengine"]; e != "" {
		return e
	}
	return "psync"
}

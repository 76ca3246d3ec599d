package fio

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// job is one job with everything that [global] gave it. Values are canonical.
type job struct {
	name string
	place
	options map[string]string
	// at is where each option is written.
	at map[string]place
	// raws are values that are decided on when all jobs are known, as they are written.
	raws map[string]option
	// percents are options that are percentages of files whose size is not known yet.
	percents map[string]uint64
	// found is what each trial finds of the job's files, and why.
	found result.FileChoice
	// size that was chosen for a job that gives none, or nil.
	size *result.SizeChoice
	// offer is the rate that is offered in an open loop, or nil.
	offer *offer
	// section that the job is, as its author called it, and the job above whose files it uses, or empty.
	section, filesOf string
	// decimal: a k is 1000 (kb_base).
	decimal bool
	// elsewhere: somebody else's fio ran it, on a system that is not known.
	elsewhere bool
}

// resolved is what a configuration comes to.
type resolved struct {
	jobs []job
	// changes are what is not done as it is written, one line each.
	changes []change
	// problems are all that is wrong, in the order of lines.
	problems []*lineError
}

// resolve turns a configuration into jobs, or returns its first problem. name is what the job
// of parameters is called. It is pure.
func resolve(c config, mode trial.Mode, name string) ([]job, error) {
	jobs, _, err := resolveChanged(c, mode, name)
	return jobs, err
}

// resolveChanged also returns what was changed.
func resolveChanged(c config, mode trial.Mode, name string) ([]job, []string, error) {
	all := resolveAll(c, mode, name)
	if len(all.problems) > 0 {
		return nil, nil, firstOf(all.problems, c.field())
	}
	var changes []string
	for _, change := range all.changes {
		changes = append(changes, change.String())
	}
	return all.jobs, changes, nil
}

// firstOf makes a failure of the first of several problems, and says how many there are.
func firstOf(problems []*lineError, field string) *trial.Failure {
	first := problems[0]
	message := first.Error()
	if more := len(problems) - 1; more > 0 {
		message += fmt.Sprintf(" (and %s: storagebench lint lists all)", suggest.Count(more, "more problem"))
	}
	return invalid(cmp.Or(first.field, field), message, first.remedy)
}

// resolveAll turns a configuration into jobs, and notes all that is wrong or changed.
func resolveAll(c config, mode trial.Mode, name string) resolved {
	r := newReader(c, mode)
	r.read(name)
	r.retarget()
	for i := range r.jobs {
		r.complete(&r.jobs[i])
	}
	if r.checkCounts() {
		r.sizeShared()
	}
	for i := range r.jobs {
		if err := r.jobs[i].checkWhole(mode); err != nil {
			r.problem(err)
		}
	}
	if err := c.offerRate(r.jobs); err != nil {
		r.problem(err)
	}
	if err := chooseFiles(c, r.jobs, mode); err != nil {
		r.problem(err)
	}
	slices.SortStableFunc(r.problems, func(a, b *lineError) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return resolved{r.jobs, r.changes, r.problems}
}

// checkCounts refuses more clones and files than fio may have. It reports whether the jobs have no more: what is
// derived of each clone and each file is only then a bounded amount of work.
func (r *reader) checkCounts() bool {
	threads, together, most, files := uint64(0), uint64(0), uint64(0), uint64(0)
	for _, j := range r.jobs {
		if j.on("stonewall") {
			together = 0
		}
		threads, together = threads+j.clones(), together+j.clones()
		most = max(most, together)
		files += j.clones() * j.files()
	}
	field, good := r.config.field(), true
	refuse := func(message, remedy string) {
		r.problem(invalid(field, message, remedy))
		good = false
	}
	switch {
	case most > maxTogether:
		refuse(fmt.Sprintf("%d clones run together, more than the limit of %d", most, maxTogether), "lower numjobs, or let jobs run one after the other (stonewall)")
	case threads > maxThreads:
		refuse(fmt.Sprintf("the jobs have %d clones in total, more than the limit of %d", threads, maxThreads), "lower numjobs, or make several workloads of the groups that run one after the other")
	}
	if files > maxAllFiles {
		refuse(fmt.Sprintf("the jobs have %d files in total, more than the limit of %d", files, maxAllFiles), "lower nrfiles or numjobs")
	}
	return good
}

// complete decides on options that depend on each other.
func (r *reader) complete(j *job) {
	if j.duration("runtime") == 0 {
		delete(j.options, "runtime") // fio takes 0 for no limit
	}
	if before := j.on("time_based"); j.implyTimeBased() && !before && r.written() {
		r.change(j.at["runtime"], "job %s runs for all of its runtime (time_based=1); fio would end it when size is done: set time_based=0 for that", j.name)
	}
	if j.on("time_based") && !j.has("runtime") {
		delete(j.options, "time_based")
		r.change(j.at["time_based"], "time_based of job %s is left out: it has no runtime", j.name)
	}
	// In an open loop it is how many may be outstanding, whatever the engine.
	if j.depth() > 1 && j.kept() == 1 && r.config.OfferedRate == 0 {
		why := fmt.Sprintf("ioengine=%s waits for each I/O; set ioengine=libaio and direct=1 to have more in flight", j.engine())
		switch {
		case j.cached():
			why = "ioengine=libaio waits for each I/O that goes through the page cache; set direct=1 to have more in flight, or ioengine=io_uring"
		case j.engine() == "posixaio":
			why = "ioengine=posixaio does the I/Os of a file one after the other; set ioengine=libaio and direct=1 to have more in flight"
		}
		r.change(j.at["iodepth"], "iodepth=%s of job %s has no effect: %s", j.options["iodepth"], j.name, why)
	}
	if r.mode == trial.Filesystem {
		j.keepPercents()
	}
}

// written reports whether the user has written the jobs, so that what is changed is said.
func (r *reader) written() bool { return r.config.Preset == "" && len(r.config.Parameters) == 0 }

// sizeShared gives jobs without a size that of the files that they share with others, makes bytes of
// percentages, and says for which jobs a size will be chosen.
func (r *reader) sizeShared() {
	if r.mode == trial.Block {
		return
	}
	shared := sharedNames(r.jobs)
	given := givenSizes(r.jobs, shared)
	for i := range r.jobs {
		j := &r.jobs[i]
		whole, sized := j.wholeOf(given, shared), j.sized()
		if whole.bytes > 0 && !sized {
			r.change(j.place, "job %s has the size of its file, which job %s gives", j.name, whole.job)
			if offset := number(j.options["offset"]); offset >= whole.bytes {
				r.problem(&lineError{place: j.at["offset"], message: fmt.Sprintf("job %s begins at %s, and its file ends at %s", j.name, workload.Human(offset), workload.Human(whole.bytes)), remedy: "lower offset, or raise the size that job " + whole.job + " gives"})
				continue
			}
		}
		if !sized && whole.bytes == 0 && r.written() {
			r.change(j.place, "job %s has no size: one is chosen for its files", j.name)
		}
		r.sayPercents(j, whole.bytes)
		switch {
		case whole.bytes > 0 && (len(j.percents) > 0 || !sized):
			j.takePercents(whole.bytes)
		case sized: // A file of the job's own has no size when fio takes a percentage of it for an offset.
			delete(j.percents, "offset")
			delete(j.percents, "offset_increment")
			j.takePercents(0)
		}
	}
}

// sayPercents says what percentages are of. whole is the size of the file, or 0 if it is not known.
func (r *reader) sayPercents(j *job, whole uint64) {
	for _, name := range ofAFile {
		percent, ok := j.percents[name]
		switch {
		case !ok || name == "io_size" && j.sized():
		case whole > 0:
			r.change(j.at[name], "%s=%d%% of job %s is of the %s that its file has", name, percent, j.name, workload.Human(whole))
		case !j.sized():
			r.change(j.at[name], "%s=%d%% of job %s is of the size that is chosen for its files", name, percent, j.name)
		default:
			r.change(j.at[name], "%s=%d%% of job %s is left out: a file has no size before it is written", name, percent, j.name)
		}
	}
}

// sized reports whether the job gives the size of its files.
func (j job) sized() bool { return j.has("size") || j.has("filesize") }

func (c config) field() string {
	switch {
	case c.Preset != "":
		return fieldPreset
	case c.JobFile != "":
		return fieldJobFile
	case c.CommandLine != "":
		return fieldCommandLine
	default:
		return fieldParameters
	}
}

// Defaults of a job that is given by parameters. The size is not among them, as
// it depends on the target; see Prepare.
func (j job) addDefaults() {
	bounded := j.has("runtime") || j.has("time_based") || j.has("loops") || j.has("number_ios") || j.has("io_size")
	if !bounded {
		j.options["runtime"], j.options["time_based"] = "30000000us", "1"
	}
	if !j.has("direct") && !j.has("buffered") && j.options["ioengine"] != "mmap" {
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
// reads back what it wrote once. It reports whether the job is time_based because of runtime.
func (j job) implyTimeBased() bool {
	switch {
	case j.options["time_based"] == "0":
		delete(j.options, "time_based")
	case j.has("runtime") && !j.endsByAmount():
		j.options["time_based"] = "1"
		return true
	}
	return false
}

// endsByAmount reports whether an option says how much the job does, beside the size of
// its files.
func (j job) endsByAmount() bool {
	return slices.ContainsFunc([]string{"loops", "number_ios", "io_size", "verify"}, j.has)
}

// checkWhole finds what is wrong with options taken together.
func (j job) checkWhole(mode trial.Mode) error {
	wrong := func(at place, message, remedy string) error {
		if at.line == 0 {
			at = j.place
		}
		return &lineError{place: at, message: message, remedy: remedy}
	}
	for _, name := range []string{"bs", "bsrange", "bssplit"} {
		if n := j.maxBlock(); n > maxBlock && j.has(name) && !j.onlyTrims() {
			return wrong(j.at[name], fmt.Sprintf("%s has blocks of %s, more than the %s that a buffer may have", j.title(), workload.Human(n), workload.Human(maxBlock)), "lower "+name)
		}
	}
	switch each := number(j.options["size"]) / j.files(); {
	case mode == trial.Filesystem && strings.Contains(j.pattern(), "trim"):
		return wrong(j.place, fmt.Sprintf("%s has rw=%s, which files do not support", j.title(), j.options["rw"]), "trim needs a block device: a target with blockDevice, or volumeMode: Block")
	case mode == trial.Filesystem && !j.has("filesize") && j.has("size") && each < j.minBlock():
		return wrong(j.at["size"], fmt.Sprintf("%s has files of %s and blocks of %s", j.title(), workload.Human(each), workload.Human(j.minBlock())), "raise size or lower bs")
	case mode == trial.Block && j.engine() == "mmap":
		return wrong(j.at["ioengine"], j.title()+" has ioengine=mmap, with which fio discards the blocks of a device before it measures them (MADV_REMOVE)", "set another ioengine, such as psync, or measure files: a target with a file system")
	case j.options["zonemode"] == "strided" && (!j.has("zonesize")):
		return wrong(j.at["zonemode"], j.title()+" has zonemode=strided and no zonesize", "add zonesize, for example zonesize=1MiB")
	}
	return nil
}

// title is what messages call the job.
func (j job) title() string {
	if j.at == nil || j.line == 0 && j.name == parametersName {
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
	p, _, _ := strings.Cut(j.options["rw"], ":")
	switch p {
	case "":
		return "read"
	case "rw":
		return "readwrite"
	default:
		return p
	}
}

// onlyTrims reports whether the job moves no data.
func (j job) onlyTrims() bool { return j.pattern() == "trim" || j.pattern() == "randtrim" }

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
	return cmp.Or(j.filesOf, j.name) + "." + strconv.FormatUint(clone, 10) + "." + strconv.FormatUint(file, 10)
}

// engine is ioengine, with fio's default.
func (j job) engine() string {
	if e := j.options["ioengine"]; e != "" {
		return e
	}
	return "psync"
}

package fio

import "strings"

// Jobs whose files fio gives the same names use the same files: those of one name, and those of one
// filename_format. Here every job has a name of its own, and the files have that of the first.

// maxListed bounds how many names of files are listed of one job.
const maxListed = 1024

// formatOf is what fio makes the names of a job's files from, with the directory; empty if they are named.
func (j *job) formatOf() string {
	if _, named := j.raws["filename"]; named {
		return ""
	}
	format := "$jobname.$jobnum.$filenum"
	if o, ok := j.raws["filename_format"]; ok {
		format = o.value
	}
	return j.raws["directory"].value + "\x00" + strings.ReplaceAll(format, "$jobname", j.section)
}

// shareNames gives jobs whose files have equal names those of the first.
func (r *reader) shareNames() {
	first := map[string]*job{}
	for i := range r.jobs {
		j := &r.jobs[i]
		format := j.formatOf()
		if format == "" || j.has("filename") {
			continue
		}
		other, ok := first[format]
		if !ok {
			if first[format] = j; j.raws["filename_format"].value != "" {
				o := j.raws["filename_format"]
				r.change(o.place, "%s is left out: fio's own names, %s.0.0 and so on", written(o), j.name)
			}
			continue
		}
		j.filesOf = other.name
		j.options["filename_format"] = other.name + ".$jobnum.$filenum"
		r.change(j.place, "job %s uses the files of job %s, as fio gives them the same names", j.name, other.name)
	}
}

// sharedNames are the names of jobs whose own files others may use: those of filesOf, and those of which a
// file is named. All other jobs have theirs alone, however many these are.
func sharedNames(jobs []job) map[string]bool {
	shared := map[string]bool{}
	for _, j := range jobs {
		if j.filesOf != "" {
			shared[j.filesOf] = true
		}
		for _, name := range j.fileNames() {
			if file := strings.LastIndexByte(name, '.'); file > 0 {
				shared[name[:max(0, strings.LastIndexByte(name[:file], '.'))]] = true // see defaultName
			}
		}
	}
	return shared
}

// listed reports whether others may use files of the job, and these are not too many to list.
func (j job) listed(shared map[string]bool) bool {
	return j.has("filename") || (j.filesOf != "" || shared[j.name]) && j.clones()*j.files() <= maxListed
}

// names of all files of the job's clones, if they are listed.
func (j job) names(shared map[string]bool) []string {
	switch {
	case !j.listed(shared):
		return nil
	case j.has("filename"):
		return j.fileNames()
	}
	names := make([]string, 0, j.clones()*j.files())
	for clone := range j.clones() {
		for file := range j.files() {
			names = append(names, j.defaultName(clone, file))
		}
	}
	return names
}

package fio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
)

// firstKey is in each of fio's documents, mostly at its beginning.
const firstKey = `"fio version"`

const remedyFormat = "run fio with --output-format=json+ --output=FILE"

// maxDocuments bounds what is read of a file.
const maxDocuments = 10_000

// foundDocument is a document in a text.
type foundDocument struct {
	foreignDocument
	// before is the text between it and the document before it.
	before []byte
	// states is how many earlier states of the same run were left out.
	states int
	// behind is the text behind it, if it is the last one.
	behind []byte
	// within is where in other JSON it stands. What is above that is above all documents in it, and
	// the second and the next inherit it; alone is the only one, of which nothing is said.
	within          string
	inherits, alone bool
}

// announced is how a document says that it is one, also where it was decorated, or stands within a
// string.
var announced = regexp.MustCompile(`fio version\\{0,3}(?:"|”|&quot;|&#34;|&#x22;)\s*:`)

// findAll returns all documents of a text, and undoes what copying did to them if need be.
func findAll(output []byte) ([]*foundDocument, error) {
	all := len(announced.FindAllIndex(output, -1))
	found, err := find(output)
	if err != nil || len(found) < all {
		repaired := repair(output)
		switch again, e := find(repaired); {
		case e == nil && len(again) >= len(found):
			found, err = again, nil
			all = max(all, len(announced.FindAllIndex(repaired, -1)))
		case e != nil && err != nil:
			err = e // what is wrong with the text, and not with its decoration
		}
	}
	if err == nil && len(found) < all {
		err = foreign(fmt.Sprintf("only %d of %d documents of fio can be read: the others are incomplete or damaged", len(found), all), "provide each of them as fio wrote it")
	}
	return found, err
}

// find returns all documents of a text. One that is damaged is an error, and none as well.
func find(output []byte) ([]*foundDocument, error) {
	var found []*foundDocument
	// What cannot be read is read again from the next brace on: a budget bounds how often.
	budget := 16*len(output) + 1<<20
	end, broken := 0, error(nil)
	for at := 0; budget > 0; {
		i := bytes.IndexByte(output[at:], '{')
		if i < 0 {
			break
		}
		at += i
		f := &foundDocument{before: output[end:at]}
		decoder := json.NewDecoder(bytes.NewReader(output[at:]))
		err := decoder.Decode(&f.foreignDocument)
		length := int(decoder.InputOffset())
		switch {
		case err == nil && f.Version != "":
			if found = append(found, f); len(found) > maxDocuments {
				return nil, foreign(fmt.Sprintf("the file has more than %d documents of fio", maxDocuments), "import fewer of them at a time")
			}
			at += length
			end = at
			continue
		case err == nil && !bytes.Contains(output[at:at+length], []byte(firstKey)):
			at += length // JSON of something else
			continue
		}
		inner, taken := f.unwrap(output[at:], err)
		if len(inner) > 0 {
			found = append(found, inner...)
			at += taken
			end = at
			continue
		}
		budget -= deepest * taken
		if err != nil && beginsDocument(output[at:]) {
			broken = cmp.Or(broken, err)
		}
		budget -= max(length, scanned(err, len(output)-at))
		at++
	}
	keys := bytes.Count(output, []byte(firstKey))
	switch {
	case broken != nil && keys > len(found):
		return nil, damaged(broken, len(found))
	case len(found) > 0:
		found[len(found)-1].behind = output[end:]
		return found, nil
	}
	return nil, notJSON(output)
}

// decimalComma is what JSON's reader says of the digits behind a decimal comma.
var decimalComma = regexp.MustCompile(`^invalid character '\d' looking for beginning of object key string`)

// damaged says why what begins like a document of fio's cannot be read, beside others that can.
func damaged(err error, others int) error {
	why := clip(err.Error())
	remedy := "let fio run to its end, and provide the whole of its output"
	if decimalComma.MatchString(err.Error()) {
		why, remedy = "behind a comma stands no name, as where a number has a decimal comma", "provide the file as fio wrote it, with points in its numbers"
	} else if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		why, remedy = fmt.Sprintf("its %s is a %s, and fio writes another type there", clip(other.Field), other.Value), "provide the file as fio wrote it, not what another program made of it"
	} else if strings.Contains(why, "invalid character '.'") {
		why, remedy = "it was shortened, and has dots in place of values", "provide the whole of fio's output"
	}
	what := "fio's JSON"
	if others > 0 {
		what = fmt.Sprintf("one of fio's documents in the file, of which %d can be read,", others)
	}
	return foreign(what+" is incomplete or damaged: "+why, remedy)
}

// scanned is how much of a text was read until an error.
func scanned(err error, all int) int {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		return int(s.Offset)
	}
	return all
}

// beginsDocument reports whether a brace may begin a document of fio's.
func beginsDocument(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte(`"`)) && bytes.Contains(text, []byte(firstKey))
}

var (
	terse = regexp.MustCompile(`(?m)^[ \t>]*(?:[2345];fio-\d|2;[^;\n]{1,100};\d+;\d+;\d+;\d+)`)
	human = regexp.MustCompile(`Run status group|clat \(|(?:read|write|trim)\s*: (?:IOPS=|io=)`)
)

// entry is what the results of fio's jobs have, whatever is around them.
var (
	entry   = regexp.MustCompile(`"jobname"\s*:`)
	results = regexp.MustCompile(`"(?:total_ios|io_bytes|io_kbytes|iops)"\s*:`)
)

// notJSON says what a text without a document is.
func notJSON(output []byte) error {
	switch {
	case announced.Match(output):
		return foreign("the file has fio's JSON only in pieces: none of its documents is whole, from the first brace to the last", "provide the file that fio wrote with --output-format=json+ --output=FILE, as it is")
	case entry.Match(output) && results.Match(output):
		return foreign("the file has results of fio's jobs (jobname), but not the document that fio wrote around them: that says which fio it was, and so what their units are (fio version)", "provide the file that fio wrote with --output-format=json+ --output=FILE, not what another program made of it")
	case terse.Match(output):
		return foreign("this is fio's terse output (minimal), which has no histograms", remedyFormat)
	case human.Match(output):
		return foreign("this is fio's human-readable output, which rounds its numbers and has no histograms", remedyFormat)
	}
	return foreign("the file contains no JSON from fio", remedyFormat)
}

var (
	// noNumber is how fio prints what it divided by nothing.
	noNumber = regexp.MustCompile(`(?i)([:\[,]\s*)[-+]?(?:nan|inf|infinity)\b`)
	// fraction is a number as programs write it that know no whole ones.
	fraction = regexp.MustCompile(`([:\[,]\s*)(-?\d{1,20}(?:\.0{1,20}|(?:\.\d{1,20})?[eE][-+]?\d{1,3}))([,}\]\s])`)
)

// repair undoes what copying does to a document, and replaces what is no JSON number.
func repair(output []byte) []byte {
	text := strings.Join(printed.Lines(output), "\n")
	text = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`).Replace(text)
	return []byte(fraction.ReplaceAllStringFunc(noNumber.ReplaceAllString(text, "${1}null"), unbroken))
}

// saidBefore is what fio, or somebody else, printed before a document.
func saidBefore(before []byte) string { return clip(clean(before)) }

// titleIn is the heading of a document.
func titleIn(lines []string) printed.Title {
	t := printed.TitleOf(lines, len(lines), 0)
	if !t.Heading && !t.Colon {
		t.Text = ""
	}
	return t
}

// check refuses what is no measurement, or in units that are not known.
func (f *foundDocument) check() error {
	for _, old := range []string{"fio-1.", "fio-2."} {
		if strings.HasPrefix(f.Version, old) {
			return foreign(fmt.Sprintf("%s is too old: its bandwidths and latencies are in other units", clip(f.Version)), "run fio 3 or later")
		}
	}
	all := f.all()
	if len(all) == 0 {
		return foreign("fio's JSON has no jobs", "let fio run to its end; with --client, provide the output of the fio that collected the results")
	}
	for i := range all {
		if j := &all[i]; j.Error != 0 {
			return foreign(fmt.Sprintf("the %s failed with %s", j.named(), errorOf(j, f.before)), "fix the job and run it again: results of a failed job do not count")
		}
		if j := &all[i]; j.Mixed.IOs > 0 && j.idle() {
			return foreign(fmt.Sprintf("the %s reports reads, writes and trims only as one mix, which cannot be told apart", j.named()), "run it without unified_rw_reporting")
		}
	}
	return nil
}

// jobsOf are the jobs by name, in the order of the output, with the options that fio
// repeats in it. They are somebody else's, and only read.
func jobsOf(own []foreignJob) []job {
	var jobs []job
	for i := range own {
		if slices.ContainsFunc(jobs, func(j job) bool { return j.name == own[i].Name }) {
			continue
		}
		jobs = append(jobs, job{name: own[i].Name, options: own[i].settings(), elsewhere: true})
	}
	return jobs
}

// incidental are options that do not change what is measured.
var incidental = regexp.MustCompile(`^(?:name|description|randseed|output.*|write_\w+_log|log_\w+|per_job_logs|status-interval|eta.*|new_group|group_reporting)$`)

// settingsOf are the options by which runs are told apart.
func settingsOf(own []foreignJob) map[string]string {
	out := map[string]string{}
	jobs := jobsOf(own)
	for _, j := range jobs {
		prefix := ""
		if len(jobs) > 1 {
			prefix = j.name + "."
			out[prefix+"job"] = j.name
		} else {
			out["job"] = j.name
		}
		for name, value := range j.options {
			if !incidental.MatchString(name) {
				out[prefix+name] = value
			}
		}
	}
	return out
}

// inputOf writes the jobs' options as a job file; empty if they are not known.
func inputOf(jobs []job) string {
	var b strings.Builder
	for _, j := range jobs {
		if len(j.options) == 0 {
			return ""
		}
		fmt.Fprintf(&b, "[%s]\n", strings.ReplaceAll(clip(j.name), "\n", " "))
		for _, name := range slices.Sorted(maps.Keys(j.options)) {
			if line := name + "=" + j.options[name]; !strings.ContainsAny(line, "\r\n") {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

// describeForeign adds to the parts of several jobs what their options say of each.
func describeForeign(parts []result.Part, jobs []job) {
	if len(jobs) < 2 {
		return
	}
	for i := range parts {
		var own []job
		for _, k := range indexes(jobs, parts[i].Name) {
			own = append(own, jobs[k])
		}
		if len(own) == 0 {
			continue
		}
		setDepths(own, parts[i].Metrics)
		if d := directOf(own); d != nil {
			parts[i].Direct = d.Effective
		}
	}
}

// directOf is what the options say of direct I/O; nil if they are not known or differ.
func directOf(jobs []job) *result.DirectIO {
	direct := 0
	for _, j := range jobs {
		if len(j.options) == 0 {
			return nil
		}
		if j.direct() {
			direct++
		}
	}
	switch direct {
	case 0:
		return &result.DirectIO{Effective: result.Buffered, Evidence: "no job has direct=1"}
	case len(jobs):
		return &result.DirectIO{Requested: true, Effective: result.DirectUnknown, Evidence: "all jobs have direct=1"}
	}
	return nil
}

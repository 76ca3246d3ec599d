package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strconv"
	"strings"
)

// foreignDocument is a document of somebody else's fio.
type foreignDocument struct {
	Version   string       `json:"fio version"`
	Time      loose        `json:"timestamp"`    // seconds
	TimeMilli loose        `json:"timestamp_ms"` // milliseconds
	Global    globals      `json:"global options"`
	Jobs      []foreignJob `json:"jobs"`
	// Clients are the jobs of a fio that ran with --client, and their sums.
	Clients []foreignJob `json:"client_stats"`
}

// UnmarshalJSON reads a document, and gives its jobs what the document says of them elsewhere.
func (d *foreignDocument) UnmarshalJSON(text []byte) error {
	type plain foreignDocument
	err := json.Unmarshal(text, (*plain)(d))
	ports := portsOf(d.Clients)
	for _, jobs := range [][]foreignJob{d.Jobs, d.Clients} {
		for i := range jobs {
			j := &jobs[i]
			j.global = d.Global.of(j)
			j.place(ports)
			j.elapse()
		}
	}
	return err
}

func (d *foreignDocument) all() []foreignJob {
	return append(append(make([]foreignJob, 0, len(d.Jobs)+len(d.Clients)), d.Jobs...), d.Clients...)
}

// foreignJob is a clone with what is only read of somebody else's.
type foreignJob struct {
	jobOutput
	rest
}

type rest struct {
	Options foreignOptions `json:"job options"`
	Host    string         `json:"hostname"`
	Port    untyped        `json:"port"`
	Start   loose          `json:"job_start"` // milliseconds since 1970
	Left    loose          `json:"eta"`       // seconds
	Elapsed loose          `json:"elapsed"`   // whole seconds since fio began
	Errors  uint64         `json:"total_err"`
	// Mixed has reads, writes and trims together (unified_rw_reporting).
	Mixed struct {
		IOs uint64 `json:"total_ios"`
	} `json:"mixed"`

	// global are the options of all jobs on its machine, and on that machine.
	global foreignOptions
	on     string
	// processes is how many ran together that fio reports as one, going by the sum of their run times.
	processes uint64
}

// UnmarshalJSON reads both halves.
func (j *foreignJob) UnmarshalJSON(text []byte) error {
	return errors.Join(json.Unmarshal(text, &j.jobOutput), json.Unmarshal(text, &j.rest))
}

// settings are all options of the job.
func (j *foreignJob) settings() map[string]string {
	out := make(map[string]string, len(j.global)+len(j.Options))
	maps.Copy(out, j.global)
	maps.Copy(out, j.Options)
	return out
}

// set reports whether an option of the job is on.
func (j *foreignJob) set(name string) bool {
	v, ok := j.Options[name]
	if !ok {
		v, ok = j.global[name]
	}
	return ok && v != "0"
}

// named is the job as messages name it.
func (j *foreignJob) named() string {
	if strings.TrimSpace(j.Name) == "" {
		return "unnamed job"
	}
	return "job " + clip(j.Name)
}

// elapse makes the run time that of one process. Of what it reports together, clones as well as whole jobs of a group
// (group_reporting) or all clients, fio prints the sum. A verification runs after what it verifies, and its time is no
// other process's.
func (j *foreignJob) elapse() {
	const atLeast, rounding = 1.5, 100 // milliseconds
	longest := max(j.Read.Runtime, j.Write.Runtime, j.Trim.Runtime)
	if longest <= 0 || j.Runtime < max(longest*atLeast, longest+rounding) {
		return
	}
	verifies := j.set("verify") && j.settings()["verify"] != "none" || j.set("experimental_verify")
	if grouped := j.set("group_reporting") || j.sums(); grouped && !verifies {
		j.processes = uint64(min(math.Round(j.Runtime/longest), math.MaxInt32))
	}
	j.Runtime = longest
}

// foreignOptions are those that fio repeats in its output, by name.
type foreignOptions map[string]string

// UnmarshalJSON reads an object of options. fio repeats an option as often as it was given, and takes all files of which
// it was told; of all others the last one counts. What is no object has no options.
func (o *foreignOptions) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return nil
	}
	fields, ok := fieldsOf(text)
	if !ok {
		return nil
	}
	*o = foreignOptions{}
	for _, f := range fields {
		value := f.text()
		if before := (*o)[f.name]; f.name == "filename" && before != "" && value != "" {
			value = before + ":" + value
		}
		(*o)[f.name] = value
	}
	return nil
}

// text is a value in words: of several, which other programs make of a name that comes several times, all.
func (f field) text() string {
	var one string
	if json.Unmarshal(f.value, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(f.value, &several) == nil {
		return strings.Join(several, ":")
	}
	return string(bytes.TrimSpace(f.value))
}

// loose is a number that only adds to what was measured: one that is no number does not make a document unreadable.
type loose float64

// UnmarshalJSON reads a number, also one in quotes.
func (l *loose) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(text), `" `), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	*l = loose(v)
	return nil
}

// untyped is a value of any type, without quotes.
type untyped string

// UnmarshalJSON reads anything.
func (u *untyped) UnmarshalJSON(text []byte) error {
	if *u = untyped(strings.Trim(string(text), `" `)); *u == "null" {
		*u = ""
	}
	return nil
}

package fio

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// allClients is the job in which fio adds up what its clients sent.
const allClients = "All clients"

// globals are the options of all jobs. With --client, fio prints those on each machine, and which that is beside them.
type globals struct {
	options foreignOptions
	each    []foreignOptions
}

// UnmarshalJSON reads one object, or several.
func (g *globals) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &g.each) == nil {
		return nil
	}
	return json.Unmarshal(text, &g.options)
}

const (
	hostKey = "hostname"
	portKey = "port"
)

// of are the options on the machine of a job: what all machines have in common, if it is not known which that is.
func (g *globals) of(j *foreignJob) foreignOptions {
	if len(g.each) == 0 {
		return g.options
	}
	own := slices.DeleteFunc(slices.Clone(g.each), func(o foreignOptions) bool {
		return j.sums() || o[hostKey] != j.Host || o[portKey] != "" && j.Port != "" && o[portKey] != string(j.Port)
	})
	if len(own) == 0 {
		own = g.each
	}
	common := foreignOptions{}
	for name, value := range own[0] {
		alike := !slices.ContainsFunc(own, func(o foreignOptions) bool { v, ok := o[name]; return !ok || v != value })
		if alike && name != hostKey && name != portKey {
			common[name] = value
		}
	}
	return common
}

// sums reports whether a job is fio's sum of all clients. Some versions print the host of the last one with it.
func (j *foreignJob) sums() bool {
	return len(j.Options) == 0 && (j.Name == allClients || j.Name == "" && j.Host == allClients)
}

// portsOf are the ports on which clients ran, by host: several fio may serve on one.
func portsOf(jobs []foreignJob) map[string][]untyped {
	ports := map[string][]untyped{}
	for i := range jobs {
		if j := &jobs[i]; !j.sums() && !slices.Contains(ports[j.Host], j.Port) {
			ports[j.Host] = append(ports[j.Host], j.Port)
		}
	}
	return ports
}

// place sets the machine of a job.
func (j *foreignJob) place(ports map[string][]untyped) {
	switch {
	case j.sums():
		j.on = allClients
	case len(ports[j.Host]) > 1 && j.Port != "":
		j.on = whole(j.Host) + ":" + whole(string(j.Port))
	default:
		j.on = whole(j.Host)
	}
}

// whole is a name that is not cut for a message: its end may distinguish it. Only what is longer
// than the name of any machine is cut.
func whole(name string) string {
	const most = 253
	return clean([]byte(name[:min(len(name), most)]))
}

// machinesOf returns the machines of jobs in their order.
func machinesOf(jobs []foreignJob) []string {
	var names []string
	for i := range jobs {
		if name := jobs[i].on; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// on returns the jobs on one machine.
func on(machine string, jobs []foreignJob) []foreignJob {
	return slices.DeleteFunc(slices.Clone(jobs), func(j foreignJob) bool { return j.on != machine })
}

// phase is what clients did before fio added it up, and the sum; nil: there is none.
type phase struct {
	own []foreignJob
	sum *foreignJob
}

// phasesOf returns what fio added up, each with its sum. Of several sums, each is of what stands between it and the one
// before: that ran after it, and gets groups of its own.
func phasesOf(all []foreignJob) []phase {
	several, groups := 0, 1
	for i := range all {
		groups = max(groups, all[i].Group+1)
		if all[i].sums() {
			several++
		}
	}
	phases := []phase{{}}
	for i := range all {
		n := len(phases) - 1
		if several > 1 {
			all[i].Group += n * groups
		}
		if !all[i].sums() {
			phases[n].own = append(phases[n].own, all[i])
			continue
		}
		if phases[n].sum = &all[i]; several > 1 {
			phases = append(phases, phase{})
		}
	}
	return phases
}

// report is that of the sum. A note instead says why it is left out: fio adds up groups that ran one after the other as if
// they had run together, and of several sums it may not be clear of what each is one.
func (p *phase) report(f *foundDocument, single bool) (r Report, note string, err error) {
	names := machinesOf(p.own)
	for _, machine := range names {
		own := on(machine, p.own)
		if join(own); groupsAmong(own) > 1 {
			return r, "fio's sum of all machines is left out: it adds up groups that ran one after the other as if they had run together", nil
		}
	}
	contradiction := p.contradiction()
	if contradiction != "" && !single {
		return r, fmt.Sprintf("one of fio's sums of all machines is left out: %s", contradiction), nil
	}
	sum := *p.sum
	sum.global = nil // the options are those of each machine
	if r, err = f.report([]foreignJob{sum}); err != nil {
		return r, "", err
	}
	jobs := jobsOf(p.own)
	r.Machine, r.Sum, r.Settings = allClients, true, settingsOf(p.own)
	r.Settings["machines"] = strings.Join(slices.Sorted(slices.Values(names)), ",")
	r.Measurement.Input, r.Measurement.DirectIO = inputOf(jobs), directOf(jobs)
	of := fmt.Sprintf("fio's sum of all %d machines, not a machine of its own", len(names))
	if len(names) == 1 {
		of = fmt.Sprintf("fio's sum of its clients, which the output does not tell apart: all have the name %q", clip(names[0]))
	}
	r.Measurement.Notes = append(r.Measurement.Notes, allClients+" is "+of)
	if contradiction != "" {
		r.Measurement.Notes = append(r.Measurement.Notes, contradiction)
	}
	return r, "", nil
}

// contradiction says where a sum is not what it should be the sum of; empty: nowhere.
func (p *phase) contradiction() string {
	for _, op := range operations {
		var ios uint64
		for i := range p.own {
			ios += p.own[i].direction(op).IOs
		}
		if sum := p.sum.direction(op).IOs; sum != ios {
			return fmt.Sprintf("fio's sum of all machines has %d %ss, and those before it have %d together", sum, op, ios)
		}
	}
	return ""
}

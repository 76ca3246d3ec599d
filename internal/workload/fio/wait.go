package fio

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/suggest"
)

// waits makes a stonewall of each wait_for where both mean the same: no other job may run while
// the one that is waited for does, and none may begin before the one that waits. Otherwise jobs
// would run together that are apart in the job file, or the other way round, and it is refused.
// created are the names of jobs that only create files, which is done before the first trial.
func (r *reader) waits(created map[string]bool) {
	var earlier, together []string // names of jobs above, and of those that run together
	waited := ""                   // what all of together waited for
	for i := range r.jobs {
		if len(r.problems) >= maxProblems {
			return
		}
		j := &r.jobs[i]
		o, waits := j.raws["wait_for"]
		other := func(name string) bool { return name != o.value }
		switch {
		case j.on("stonewall"):
			together, waited = nil, ""
			if waits {
				r.change(o.place, "%s is left out: stonewall waits for all jobs above", written(o))
			}
		case waits && !created[o.value] && !slices.Contains(earlier, o.value):
			remedy := "name a job above it"
			if near := suggest.Nearest(o.value, earlier); near != "" {
				remedy = "did you mean " + clip(near) + "?"
			}
			r.problem(&lineError{place: o.place, message: fmt.Sprintf("wait_for: no job above is called %q", clip(o.value)), remedy: remedy})
		case waits && o.value == waited:
			r.change(o.place, "%s: job %s begins with the job above it, which waits for the same", written(o), clip(j.name))
		case waits && slices.Contains(together, o.value) && slices.ContainsFunc(together, other):
			r.problem(&lineError{place: o.place, message: fmt.Sprintf("wait_for: %q does not run alone, and only waiting for all jobs above is supported", clip(o.value)), remedy: "use stonewall, or make a workload of the jobs that run together"})
		case waits && slices.Contains(together, o.value):
			j.options["stonewall"] = "1"
			r.change(o.place, "%s is stonewall: nothing else runs then", written(o))
			together, waited = nil, o.value
		case waited != "":
			r.problem(&lineError{place: j.place, message: fmt.Sprintf("job %s does not wait for %q, as the job above it does: fio would run both together", clip(j.name), clip(waited)), remedy: "put it above the jobs that wait, or give it stonewall or the same wait_for"})
		case waits:
			r.change(o.place, "%s is left out: that job has ended by then", written(o))
		}
		earlier, together = append(earlier, j.name), append(together, j.name)
	}
}

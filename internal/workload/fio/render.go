package fio

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// render writes a job file: every option of every job, canonical, in a fixed
// order, and no [global]. extra options are added to each job that has not set them.
func render(jobs []job, extra map[string]string) string {
	var b strings.Builder
	for i, j := range jobs {
		if i > 0 {
			b.WriteByte('\n')
		}
		options := maps.Clone(extra)
		if options == nil {
			options = map[string]string{}
		}
		maps.Copy(options, j.options)
		fmt.Fprintf(&b, "[%s]\n", j.name)
		for _, name := range slices.Sorted(maps.Keys(options)) {
			fmt.Fprintf(&b, "%s=%s\n", name, options[name])
		}
	}
	return b.String()
}

// withSeed sets the seed of each job that has not chosen its own. While randrepeat is 1, its default, fio 3.33 takes
// the first clone's blocks in the same order whatever randseed says.
func withSeed(jobs []job, seed string) []job {
	out := make([]job, len(jobs))
	for i, j := range jobs {
		out[i] = j.clone()
		if !j.hasSeed() {
			out[i].options["randseed"], out[i].options["randrepeat"] = seed, "0"
		}
	}
	return out
}

// clone returns a job whose options can be changed.
func (j job) clone() job {
	j.options, j.at, j.raws = maps.Clone(j.options), maps.Clone(j.at), maps.Clone(j.raws)
	return j
}

// hasSeed reports whether the job's own options decide on its random sequence.
func (j job) hasSeed() bool {
	return j.has("randseed") || j.has("randrepeat") || j.has("allrandrepeat")
}

// onDevice points the jobs to a block device. fio separates names with colons.
func onDevice(jobs []job, device string) []job {
	out := make([]job, len(jobs))
	for i, j := range jobs {
		out[i] = j.clone()
		out[i].options["filename"] = strings.ReplaceAll(device, ":", `\:`)
	}
	return out
}

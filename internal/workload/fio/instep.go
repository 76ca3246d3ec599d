package fio

import (
	"fmt"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// setInStep records which share of the reads, or of the writes, uses what another clone has just used: clones that go
// through the same file in order, from the same place on, stay close together, as the first of them is the slowest.
func setInStep(jobs []job, mode trial.Mode, metrics result.Metrics) {
	for _, operation := range operations[:2] {
		all, paths := 0.0, map[string]bool{}
		group := 0
		for i, j := range jobs {
			if j.on("stonewall") {
				group++
			}
			if !j.does(operation) {
				continue
			}
			all += float64(j.clones())
			for clone := range j.clones() {
				paths[j.path(mode, group, i, clone)] = true
			}
		}
		if share := 1 - float64(len(paths))/all; all > 0 && share > 0 {
			metrics.Set(operation+result.InStep, result.Ratio, share)
		}
	}
}

// path names the way of a clone of the i-th job through the target. Others that have the same one go it with it.
func (j job) path(mode trial.Mode, group, i int, clone uint64) string {
	files := strings.Join([]string{j.options["filename"], j.options["nrfiles"], j.options["file_service_type"]}, " ")
	if !j.shared(mode) || strings.HasPrefix(j.pattern(), "rand") {
		return fmt.Sprint(i, " ", clone)
	}
	return fmt.Sprint(group, files, " ", j.options["rw"], " ", j.options["bs"], " ", j.options["offset"])
}

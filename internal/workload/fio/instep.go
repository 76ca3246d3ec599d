package fio

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// setInStep records which share of the reads, or of the writes, uses what another clone has just used: clones that go
// through the same file in order, from the same place on, stay close together, as the first of them is the slowest.
//
// It does so for those of the jobs that are of a part.
func setInStep(jobs []job, of []int, mode trial.Mode, metrics result.Metrics) {
	for _, operation := range operations[:2] {
		var own []string
		clones, group := map[string]float64{}, 0
		for i, j := range jobs {
			if j.on("stonewall") {
				group++
			}
			if !j.does(operation) {
				continue
			}
			for clone := range j.clones() {
				path := j.path(mode, group, i, clone)
				if clones[path]++; slices.Contains(of, i) {
					own = append(own, path)
				}
			}
		}
		share := 0.0
		for _, path := range own {
			share += (1 - 1/clones[path]) / float64(len(own)) // one of them is the first
		}
		if share > 0 {
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

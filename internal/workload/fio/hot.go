package fio

import (
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// setHot records within how many bytes nine tenths of the jobs' reads, or of their writes, use something again, if that is much
// less than all of the target; and of how many bytes what trims is.
func setHot(jobs []job, mode trial.Mode, shown rehearsal, metrics result.Metrics) {
	for _, operation := range operations {
		bytes, all := 0.0, 0.0
		for i, j := range jobs {
			if !j.does(operation) {
				continue
			}
			used, known := j.used()
			again := 0.0
			if i < len(shown.Reuse) && operation != "trim" {
				again = shown.Reuse[i][operation]
			}
			if known && (again == 0 || again > used/2) {
				again = used // said exactly
			}
			if again == 0 {
				bytes = 0
				break
			}
			if again *= float64(j.clones()); known && j.shared(mode) {
				again = min(again, used) // of all clones together
			}
			bytes += again
		}
		if mode == trial.Filesystem {
			all = float64(footprint(jobs, 0))
		}
		if bytes > 0 && (mode == trial.Block || operation != "trim" && bytes <= all/2) {
			metrics.Set(operation+result.Hot, result.Bytes, bytes)
		}
	}
}

// shared reports whether the clones work on the same part of the same files.
func (j job) shared(mode trial.Mode) bool {
	apart := mode != trial.Block && !j.has("filename") // a file for each clone
	return !apart && number(strings.TrimSuffix(j.options["offset_increment"], "%")) == 0
}

// does reports whether the job has I/Os of an operation.
func (j job) does(operation string) bool {
	switch operation {
	case "read":
		return j.reads()
	case "write":
		return j.writeShare() > 0
	default:
		return strings.Contains(j.pattern(), operation)
	}
}

// setPreRead records how many bytes the jobs read before they are measured, if all of those that do say how many.
func setPreRead(jobs []job, metrics result.Metrics) {
	sum := 0.0
	for _, j := range jobs {
		if !j.on("pre_read") || !j.reads() {
			continue
		}
		all, known := j.used()
		if !known {
			return
		}
		sum += float64(j.clones()) * all
	}
	if sum > 0 {
		metrics.Set(result.PreReadBytes, result.Bytes, sum)
	}
}

// used is on how many bytes a clone works, if the job says so.
func (j job) used() (bytes float64, known bool) {
	if !j.sized() || strings.HasSuffix(j.options["size"], "%") && j.fileSize() == 0 {
		return 0, false
	}
	return float64(j.extent(0)), true
}

package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"storagebench.io/storagebench/internal/workload/tool"
)

// maxLogs bounds what is appended to the raw output.
const maxLogs = 32 << 20

// logOptions are those that make fio write logs, with the files that they make.
var logOptions = map[string][]string{
	"write_bw_log":   {rateLog + "_bw.log"},
	"write_iops_log": {rateLog + "_iops.log"},
	"write_lat_log":  {rateLog + "_lat.log", rateLog + "_slat.log", rateLog + "_clat.log"},
}

// logs reports whether the job asks for logs. They have a line for each interval in which rates
// are noted, as one for each I/O can be more than a worker has memory for.
func (j job) logs() bool { return slices.ContainsFunc(sortedKeys(logOptions), j.has) }

// withLogs lets the jobs write their logs where those of rates are.
func withLogs(jobs []job, dir string) []job {
	out := make([]job, len(jobs))
	for i, j := range jobs {
		out[i] = j
		if !j.logs() {
			continue
		}
		out[i] = j.clone()
		for name := range logOptions {
			if j.has(name) {
				out[i].options[name] = filepath.Join(dir, rateLog)
			}
		}
	}
	return out
}

// takeLogs returns the logs that jobs ask for, each below a line with its name.
func takeLogs(dir string, jobs []job) (logs []byte, note string, err error) {
	var b bytes.Buffer
	for _, option := range sortedKeys(logOptions) {
		if !slices.ContainsFunc(jobs, func(j job) bool { return j.has(option) }) {
			continue
		}
		for _, name := range logOptions[option] {
			file := filepath.Join(dir, name)
			text, err := tool.ReadBounded(file, maxLogs)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil || b.Len()+len(text) > maxLogs:
				note = fmt.Sprintf("the raw output lacks %s, with which it would have more than %d MiB of logs", name, maxLogs>>20)
			default:
				fmt.Fprintf(&b, "\n# %s\n%s", name, text)
			}
			if err := os.Remove(file); err != nil {
				return nil, "", fmt.Errorf("fio: logs: %w", err)
			}
		}
	}
	return b.Bytes(), note, nil
}

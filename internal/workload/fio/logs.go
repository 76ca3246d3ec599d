package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"storagebench.io/storagebench/internal/workload/tool"
)

// maxLogs bounds what is appended to the raw output.
const maxLogs = 32 << 20

// logOptions are those that make fio write logs, with how the names of their files end.
var logOptions = map[string][]string{
	"write_bw_log":   {"_bw.log"},
	"write_iops_log": {"_iops.log"},
	"write_lat_log":  {"_lat.log", "_slat.log", "_clat.log"},
}

// withLogs lets each job write logs of its rates, and those that it asks for beside them. They have a line for each interval in which
// rates are noted, as one for each I/O can be more than a worker has memory for.
func withLogs(jobs []job, dir string) []job {
	out := make([]job, len(jobs))
	for i, j := range jobs {
		out[i] = j.clone()
		for name := range logOptions {
			if name != "write_lat_log" || j.has(name) {
				out[i].options[name] = filepath.Join(dir, logOf(jobs, i))
			}
		}
	}
	return out
}

// askedLog is a log that a job asks for: its file, and what it is called in the raw output.
type askedLog struct{ file, name string }

// logsOf are the logs of an option that jobs ask for. Of several jobs, each log has the job's name.
func logsOf(jobs []job, option string) []askedLog {
	var out []askedLog
	for i, j := range jobs {
		if !j.has(option) {
			continue
		}
		for _, ending := range logOptions[option] {
			log := askedLog{logOf(jobs, i) + ending, rateLog + ending}
			if len(jobs) > 1 {
				log.name += " of " + j.name
			}
			out = append(out, log)
		}
	}
	return out
}

// takeLogs returns the logs that jobs ask for, each below a line with its name.
func takeLogs(dir string, jobs []job) (logs []byte, note string, err error) {
	var b bytes.Buffer
	for _, option := range sortedKeys(logOptions) {
		for _, log := range logsOf(jobs, option) {
			name, file := log.name, filepath.Join(dir, log.file)
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

package trial

import "strings"

// Keys are the object keys of one run, relative to the store's prefix.
type Keys struct{ Namespace, Name, Run string }

// Keys returns the object keys of the plan's run.
func (p *Plan) Keys() Keys {
	return Keys{Namespace: p.Benchmark.Namespace, Name: p.Benchmark.Name, Run: p.Run}
}

func (k Keys) join(parts ...string) string {
	return strings.Join(append([]string{k.Namespace, k.Name, k.Run}, parts...), "/")
}

// Prefix is the prefix of every object of the run. It ends with a slash.
func (k Keys) Prefix() string { return k.join("") }

// Plan is the key of plan.json.
func (k Keys) Plan() string { return k.join("plan.json") }

// Summary is the key of the run's summary.json.
func (k Keys) Summary() string { return k.join("summary.json") }

// Baseline is the key of a short summary that the operator's own store keeps of a run that has ended.
func (k Keys) Baseline() string { return k.join("baseline.json") }

// Report is the key of the run's page for people.
func (k Keys) Report() string { return k.join("report.html") }

// Accepted is the key of the record of those of a worker's documents that the
// operator accepted. No worker can write it.
func (k Keys) Accepted(worker string) string { return k.join("accepted", worker+".json") }

// WorkerSummary is the key of a worker's summary.json.
func (k Keys) WorkerSummary(worker string) string { return k.join("workers", worker, "summary.json") }

// Trials is the prefix of a worker's trial documents. It ends with a slash.
func (k Keys) Trials(worker string) string { return k.join("workers", worker, "trials", "") }

// Trial is the key of a trial document.
func (k Keys) Trial(worker, id string) string {
	return k.join("workers", worker, "trials", id+".json")
}

// Samples is the key of a trial's samples over time, as a Parquet file.
func (k Keys) Samples(worker, id string) string {
	return k.join("workers", worker, "samples", id+".parquet")
}

// Raw is the key of the unchanged output of a trial's tool, compressed with zstd.
func (k Keys) Raw(worker, id string) string {
	return k.join("workers", worker, "raw", id, "output.zst")
}

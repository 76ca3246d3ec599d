package jobspec

import (
	"crypto/sha256"
	"encoding/hex"

	"storagebench.io/storagebench/internal/trial"
)

// Labels on every object of a worker.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "storagebench"
	LabelBenchmark = "storagebench.io/benchmark"
	LabelRun       = "storagebench.io/run"
	LabelWorker    = "storagebench.io/worker"
)

// Labels of a worker's objects.
func Labels(p *trial.Plan, worker trial.Worker) map[string]string {
	return map[string]string{
		LabelManagedBy: ManagedBy,
		LabelBenchmark: p.Benchmark.Name,
		LabelRun:       p.Run,
		LabelWorker:    worker.Name,
	}
}

// Name of a worker's objects: the benchmark's name, of at most 52 characters, and
// a hash of what the worker is.
func Name(p *trial.Plan, worker trial.Worker) string {
	sum := sha256.Sum256([]byte(p.Benchmark.UID + "/" + p.Run + "/" + worker.Name))
	return p.Benchmark.Name + "-" + hex.EncodeToString(sum[:4])
}

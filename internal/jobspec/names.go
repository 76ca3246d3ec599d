package jobspec

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

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

// AnnotationComplete marks a Job whose dependants all exist. The preparation of a
// suspended Job without it was interrupted.
const AnnotationComplete = "storagebench.io/complete"

// Labels of a worker's objects.
func Labels(p *trial.Plan, worker trial.Worker) map[string]string {
	return map[string]string{
		LabelManagedBy: ManagedBy,
		LabelBenchmark: p.Benchmark.Name,
		LabelRun:       p.Run,
		LabelWorker:    worker.Name,
	}
}

// A Job's name has at most 63 characters, because it is a label value of its
// Pods.
const (
	maxName = 63
	// hashLength is 128 bits in hexadecimal digits, so that nobody can find a second
	// input with the same hash, and with it a run whose objects get the names of other
	// objects.
	hashLength = 32
)

// Name returns the name of a worker's objects: the beginning of the benchmark's name,
// and a hash that identifies the worker.
func Name(p *trial.Plan, worker trial.Worker) string {
	prefix := p.Benchmark.Name
	if limit := maxName - hashLength - 1; len(prefix) > limit {
		prefix = prefix[:limit]
	}
	return strings.TrimRight(prefix, "-.") + "-" + hash(p.Benchmark.UID, p.Run, worker.Name)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:])[:hashLength]
}

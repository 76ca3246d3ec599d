package postmark

import "storagebench.io/storagebench/internal/histogram"

// tally counts one kind of operation in one phase.
type tally struct {
	// attempted = done + skipped + failed, and one more if the trial was stopped.
	attempted, done, skipped, failed uint64
	bytes                            uint64
	latency                          histogram.Recorder
}

func (t *tally) merge(other *tally) {
	t.attempted += other.attempted
	t.done += other.done
	t.skipped += other.skipped
	t.failed += other.failed
	t.bytes += other.bytes
	t.latency.Merge(&other.latency)
}

// tallies of a thread, or of all.
type tallies struct {
	// In the phase of transactions.
	transactions, create, read, append, remove tally
	// half counts transactions one half of which was skipped.
	half uint64
	// In the phases of their own.
	createAlone, removeAlone tally
}

func (t *tallies) merge(other *tallies) {
	t.transactions.merge(&other.transactions)
	t.create.merge(&other.create)
	t.read.merge(&other.read)
	t.append.merge(&other.append)
	t.remove.merge(&other.remove)
	t.half += other.half
	t.createAlone.merge(&other.createAlone)
	t.removeAlone.merge(&other.removeAlone)
}

// of is the tally of an operation that is part of a transaction.
func (t *tallies) of(k kind) *tally {
	switch k {
	case readFile:
		return &t.read
	case appendFile:
		return &t.append
	case createFile:
		return &t.create
	default:
		return &t.remove
	}
}

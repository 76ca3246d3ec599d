package postmark

import (
	"fmt"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// report is what the original says of a run. It measures in whole seconds, of which
// there is at least one, divides without a remainder, and sums bytes up in 32 bits of
// floating point.
type report struct {
	total, create, mixed, remove int64 // seconds

	transactions            int64
	created, createdAlone   int64
	read, appended          int64
	deleted, deletedAlone   int64
	bytesRead, bytesWritten float32
}

// original is the report of a trial that is complete.
func (r *run) original(t *tallies) report {
	seconds := func(from, to int) int64 { return max(1, r.whole[to]-r.whole[from]) }
	w := r.workers[0]
	return report{
		total: seconds(0, 3), create: seconds(0, 1), mixed: seconds(1, 2), remove: seconds(2, 3),
		transactions: int64(t.transactions.attempted),
		created:      int64(t.createAlone.done + t.create.done), createdAlone: int64(t.createAlone.done),
		read: int64(t.read.done), appended: int64(t.append.done),
		deleted: int64(t.remove.done + t.removeAlone.done), deletedAlone: int64(t.removeAlone.done),
		bytesRead: w.floatRead, bytesWritten: w.floatWritten,
	}
}

// String is the report in the original's words.
func (o report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Time:")
	line("\t%d seconds total", o.total)
	line("\t%d seconds of transactions (%d per second)", o.mixed, o.transactions/o.mixed)
	line("\nFiles:")
	line("\t%d created (%d per second)", o.created, o.created/o.total)
	line("\t\tCreation alone: %d files (%d per second)", o.createdAlone, o.createdAlone/o.create)
	line("\t\tMixed with transactions: %d files (%d per second)", o.created-o.createdAlone, (o.created-o.createdAlone)/o.mixed)
	line("\t%d read (%d per second)", o.read, o.read/o.mixed)
	line("\t%d appended (%d per second)", o.appended, o.appended/o.mixed)
	line("\t%d deleted (%d per second)", o.deleted, o.deleted/o.total)
	line("\t\tDeletion alone: %d files (%d per second)", o.deletedAlone, o.deletedAlone/o.remove)
	line("\t\tMixed with transactions: %d files (%d per second)", o.deleted-o.deletedAlone, (o.deleted-o.deletedAlone)/o.mixed)
	line("\nData:")
	line("\t%s read (%s per second)", scaled(o.bytesRead), scaled(o.bytesRead/float32(o.total)))
	line("\t%s written (%s per second)", scaled(o.bytesWritten), scaled(o.bytesWritten/float32(o.total)))
	return b.String()
}

// set puts what the original reports among the metrics, as it counts.
func (o report) set(m result.Metrics) {
	for name, n := range map[string]int64{
		"create": o.created, "read": o.read, "append": o.appended, "delete": o.deleted,
	} {
		m.Set("original."+name+".count", result.Count, float64(n))
	}
	m.Set("original.transactions.rate", result.PerSecond, float64(o.transactions/o.mixed))
	m.Set("original.read.bytes", result.Bytes, float64(o.bytesRead))
	m.Set("original.write.bytes", result.Bytes, float64(o.bytesWritten))
	m.Set("original.total.duration", result.Seconds, float64(o.total))
	m.Set("original.transactions.duration", result.Seconds, float64(o.mixed))
}

// scaled writes a number of bytes as the original does.
func scaled(bytes float32) string {
	const kilo, mega = float32(1 << 10), float32(1 << 20)
	switch {
	case bytes/mega > 1:
		return fmt.Sprintf("%.2f megabytes", bytes/mega)
	case bytes != 0:
		return fmt.Sprintf("%.2f kilobytes", bytes/kilo)
	default:
		return fmt.Sprintf("%f bytes", bytes)
	}
}

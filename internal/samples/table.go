package samples

import (
	"math"
	"time"
)

// Scope says what a row is about.
type Scope string

// Scopes of rows.
const (
	// Disk is a disk below the target. The row's name is its own in /sys/block.
	Disk Scope = "disk"
	// Workload is what the engine counted itself. The name is the operation, such as read.
	Workload Scope = "workload"
	// Machine is the node and the worker's cgroup. The name is empty.
	Machine Scope = "machine"
)

// Scopes are all of them.
var Scopes = []Scope{Disk, Workload, Machine}

// Column is the index of a column in Columns.
type Column int

// Columns of numbers.
const (
	Seconds Column = iota
	ReadCount
	ReadMerges
	ReadBytes
	ReadAwait
	WriteCount
	WriteMerges
	WriteBytes
	WriteAwait
	DiscardCount
	DiscardBytes
	FlushCount
	FlushSeconds
	InFlight
	QueueDepth
	CgroupReadBytes
	CgroupWriteBytes
	Count
	Bytes
	DirtyBytes
	WritebackBytes
	CPUUser
	CPUSystem
	CPUIOWait
	CPUSteal
	CPUIdle
	PressureCPU
	PressureIO
	PressureIOFull
	PressureMemory
	PressureMemoryFull
	CgroupCPUSeconds
	CgroupThrottledPeriods
	CgroupThrottledSeconds
	LimitReadBytes
	LimitWriteBytes
	LimitReadCount
	LimitWriteCount
	ARCHits
	ARCMisses
	ARCBytes
	ZILCommits
	TransactionGroups

	NumColumns
)

// About is what a column is.
type About struct {
	Name string
	// Integer columns hold counts. The others hold any number.
	Integer bool
	// Scope of the rows that have it; empty: all.
	Scope Scope
	// Meaning in a few words, with the unit.
	Meaning string
}

// Columns are the columns of numbers, in their order.
var Columns = [NumColumns]About{
	Seconds:                {"seconds", false, "", "how long the interval was"},
	ReadCount:              {"read_count", true, Disk, "reads that the disk completed"},
	ReadMerges:             {"read_merges", true, Disk, "reads that the kernel merged with others before they got there"},
	ReadBytes:              {"read_bytes", true, Disk, "bytes that it read"},
	ReadAwait:              {"read_await", false, Disk, "seconds that a read took on average; null without reads"},
	WriteCount:             {"write_count", true, Disk, "writes that the disk completed"},
	WriteMerges:            {"write_merges", true, Disk, "writes that the kernel merged with others"},
	WriteBytes:             {"write_bytes", true, Disk, "bytes that it wrote"},
	WriteAwait:             {"write_await", false, Disk, "seconds that a write took on average; null without writes"},
	DiscardCount:           {"discard_count", true, Disk, "discards that the disk completed"},
	DiscardBytes:           {"discard_bytes", true, Disk, "bytes that they freed"},
	FlushCount:             {"flush_count", true, Disk, "flushes of its cache that the disk completed"},
	FlushSeconds:           {"flush_seconds", false, Disk, "seconds that these took together"},
	InFlight:               {"in_flight", true, Disk, "requests at the disk when the interval ended"},
	QueueDepth:             {"queue_depth", false, Disk, "requests in flight on average, as the kernel counts them when they complete"},
	CgroupReadBytes:        {"cgroup_read_bytes", true, Disk, "bytes that the worker's cgroup read from the disk"},
	CgroupWriteBytes:       {"cgroup_write_bytes", true, Disk, "bytes that the worker's cgroup wrote to it"},
	Count:                  {"count", false, Workload, "operations that completed; a fraction where the engine's own intervals are others"},
	Bytes:                  {"bytes", false, Workload, "bytes that they moved"},
	DirtyBytes:             {"dirty_bytes", true, Machine, "bytes in memory that are to be written, at the end of the interval"},
	WritebackBytes:         {"writeback_bytes", true, Machine, "bytes that are being written from memory, at the end of the interval"},
	CPUUser:                {"cpu_user", false, Machine, "share of all CPU time that programs used"},
	CPUSystem:              {"cpu_system", false, Machine, "share that the kernel used, interrupts included"},
	CPUIOWait:              {"cpu_iowait", false, Machine, "share that was idle while I/O was outstanding"},
	CPUSteal:               {"cpu_steal", false, Machine, "share that the host of this virtual machine gave to others"},
	CPUIdle:                {"cpu_idle", false, Machine, "share that was idle otherwise"},
	PressureCPU:            {"pressure_cpu", false, Machine, "share of the time in which somebody waited for a CPU"},
	PressureIO:             {"pressure_io", false, Machine, "share of the time in which somebody waited for I/O"},
	PressureIOFull:         {"pressure_io_full", false, Machine, "share of the time in which everybody did"},
	PressureMemory:         {"pressure_memory", false, Machine, "share of the time in which somebody waited for memory"},
	PressureMemoryFull:     {"pressure_memory_full", false, Machine, "share of the time in which everybody did"},
	CgroupCPUSeconds:       {"cgroup_cpu_seconds", false, Machine, "CPU time that the worker's cgroup used"},
	CgroupThrottledPeriods: {"cgroup_throttled_periods", true, Machine, "periods in which its CPU quota stopped it"},
	CgroupThrottledSeconds: {"cgroup_throttled_seconds", false, Machine, "for how long, the cgroups above it included"},
	LimitReadBytes:         {"limit_read_bytes", true, Machine, "lowest limit of the cgroups for bytes read per second; null: none"},
	LimitWriteBytes:        {"limit_write_bytes", true, Machine, "the same of bytes written"},
	LimitReadCount:         {"limit_read_count", true, Machine, "the same of reads"},
	LimitWriteCount:        {"limit_write_count", true, Machine, "the same of writes"},
	ARCHits:                {"arc_hits", true, Machine, "reads of data that the cache of ZFS answered with what it had before"},
	ARCMisses:              {"arc_misses", true, Machine, "reads of data for which ZFS read its disks, also ahead of them"},
	ARCBytes:               {"arc_bytes", true, Machine, "size of that cache at the end of the interval"},
	ZILCommits:             {"zil_commits", true, Machine, "commits of the intent log of ZFS"},
	TransactionGroups:      {"transaction_groups", true, Machine, "transaction groups that the pool has begun"},
}

// MaxRows bounds a table.
const MaxRows = 1 << 18

// Table is what was recorded of one trial, by column.
type Table struct {
	// At is the end of each row's interval.
	At    []time.Time
	Scope []Scope
	Name  []string
	// Values by column. NaN: not read, or not of this scope.
	Values [NumColumns][]float64
}

// Len is how many rows there are.
func (t *Table) Len() int { return len(t.At) }

// Add adds a row, whose values are all absent, and returns its index.
func (t *Table) Add(at time.Time, scope Scope, name string) int {
	t.At, t.Scope, t.Name = append(t.At, at), append(t.Scope, scope), append(t.Name, name)
	for c := range t.Values {
		t.Values[c] = append(t.Values[c], math.NaN())
	}
	return len(t.At) - 1
}

// Set sets a value of a row.
func (t *Table) Set(row int, c Column, value float64) { t.Values[c][row] = value }

// Select returns the rows of a scope and name, in their order.
func (t *Table) Select(scope Scope, name string) []int {
	var rows []int
	for i := range t.At {
		if t.Scope[i] == scope && t.Name[i] == name {
			rows = append(rows, i)
		}
	}
	return rows
}

// Sum adds up a column over the rows of a scope and name that are included; nil: all are. It is not a number if one of them lacks it.
func (t *Table) Sum(scope Scope, name string, c Column, included func(row int) bool) (sum float64) {
	for _, row := range t.Select(scope, name) {
		if included == nil || included(row) {
			sum += t.Values[c][row]
		}
	}
	return sum
}

// Names returns the names that rows of a scope have, each once, in the order of their first rows.
func (t *Table) Names(scope Scope) []string {
	var names []string
	seen := map[string]bool{}
	for i, name := range t.Name {
		if t.Scope[i] == scope && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

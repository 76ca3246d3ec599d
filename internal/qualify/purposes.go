package qualify

import (
	"strings"

	"storagebench.io/storagebench/internal/suggest"
)

// Ours marks a limit that no source gives.
const Ours = "storagebench's own choice"

// Limit is what a purpose needs of a metric. Exactly one of Max and Min is set, written as in
// spec.gates.
type Limit struct {
	Metric, Max, Min string
	// Part of the workload that it is about; empty: the whole.
	Part string
	// Who says so, and where: a URL, or Ours.
	Who, Source string
	// Why it matters, in a few words.
	Why string
}

// Text is the limit in words: less than is what sources say, at most is what a gate checks.
func (l Limit) Text() string {
	if l.Max != "" {
		return "at most " + l.Max
	}
	return "at least " + l.Min
}

// Purpose is what storage is wanted for.
type Purpose struct {
	Name string
	// Title is what is measured, in a few words.
	Title string
	// JobFile of fio: trials of a few seconds.
	JobFile string
	// Decides are the limits that are gates.
	Decides []Limit
	// Others are limits of other sources for the same metrics. They decide nothing.
	Others []Limit
}

// purposes are all of them, the first being the one that is asked for most.
var purposes = []Purpose{
	{
		Name: "etcd", Title: "etcd's log (2.3 KiB appends, an fdatasync after each)",
		JobFile: `[wal]
ioengine=sync
rw=write
bs=2300
size=22MiB
fdatasync=1
runtime=6
`,
		Decides: []Limit{{
			Metric: "sync.latency.p99", Max: "10ms", Who: "etcd", Source: "https://etcd.io/docs/v3.6/faq/",
			Why: "a member whose disk is slower misses heartbeats and loses leaders",
		}},
		Others: []Limit{
			{Metric: "sync.latency.p99", Max: "10ms", Who: "Red Hat's documentation of OpenShift 4.20", Source: "https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/etcd/etcd-practices"},
			{Metric: "sync.latency.p99", Max: "20ms", Who: "OpenShift's check etcd-perf", Source: "https://github.com/cloud-bulldozer/images"},
		},
	},
	{
		Name: "postgres", Title: "a PostgreSQL log and its reads (8 KiB: fdatasync after each write; random reads)",
		JobFile: `[global]
time_based=1
runtime=4
bs=8k
overwrite=1

[wal]
ioengine=psync
rw=write
size=64MiB
fdatasync=1

[reads]
stonewall
ioengine=libaio
direct=1
rw=randread
iodepth=1
size=512MiB
`,
		Decides: []Limit{
			{Part: "wal", Metric: "sync.latency.p99", Max: "10ms", Who: "storagebench", Source: Ours, Why: "a commit waits for it; etcd asks the same of its log"},
			{Part: "reads", Metric: "read.latency.p99", Max: "10ms", Who: "storagebench", Source: Ours, Why: "a query waits for each block that it misses"},
		},
	},
	{
		Name: "kafka", Title: "a Kafka broker's log (16 KiB appends, written out at the end)",
		JobFile: `[log]
ioengine=psync
rw=write
bs=16k
numjobs=2
size=256MiB
end_fsync=1
fallocate=none
time_based=1
runtime=5
`,
		Decides: []Limit{
			{Metric: "write.bandwidth", Min: "50MiB/s", Who: "storagebench", Source: Ours, Why: "what producers can send for long; set it to your own peak"},
		},
	},
	{
		Name: "prometheus", Title: "a Prometheus server's blocks (4 KiB random reads while a log is written)",
		JobFile: `[wal]
ioengine=psync
rw=write
bs=32k
size=128MiB
rate=4MiB
end_fsync=1
time_based=1
runtime=5

[queries]
ioengine=psync
direct=1
rw=randread
bs=4k
size=512MiB
time_based=1
runtime=5
`,
		Decides: []Limit{
			{Part: "queries", Metric: "read.latency.p99", Max: "20ms", Who: "storagebench", Source: Ours, Why: "a query reads many chunks, one after the other"},
		},
	},
	{
		Name: "vm", Title: "disks of virtual machines (mixed random I/O, 84 % reads, 16 in flight)",
		JobFile: `[vm]
ioengine=libaio
direct=1
rw=randrw
rwmixread=84
bssplit=4k/75:16k/20:32k/5
numjobs=4
iodepth=4
size=256MiB
time_based=1
runtime=5
`,
		Decides: []Limit{
			{Metric: "read.latency.p99", Max: "20ms", Who: "storagebench", Source: Ours, Why: "users of a machine notice what takes longer"},
			{Metric: "read.iops", Min: "1000", Who: "storagebench", Source: Ours, Why: "a boot of 70,000 I/Os then takes about a minute"},
		},
	},
	{
		Name: "general", Title: "general use (4 KiB random reads and writes, one in flight)",
		JobFile: `[global]
ioengine=libaio
direct=1
bs=4k
iodepth=1
size=512MiB
overwrite=1
time_based=1
runtime=4

[reads]
rw=randread

[writes]
stonewall
rw=randwrite
`,
		Decides: []Limit{
			{Part: "reads", Metric: "read.latency.p99", Max: "10ms", Who: "storagebench", Source: Ours, Why: "slower than a single disk that seeks"},
			{Part: "writes", Metric: "write.latency.p99", Max: "10ms", Who: "storagebench", Source: Ours, Why: "slower than a single disk that seeks"},
		},
	},
}

// Purposes returns all of them.
func Purposes() []Purpose { return purposes }

// Names returns the names of the purposes.
func Names() []string {
	var names []string
	for _, p := range purposes {
		names = append(names, p.Name)
	}
	return names
}

// Find returns the purpose of that name; if there is none, what to write instead.
func Find(name string) (p Purpose, remedy string, ok bool) {
	for _, p := range purposes {
		if strings.EqualFold(p.Name, name) {
			return p, "", true
		}
	}
	return Purpose{}, suggest.Remedy(name, Names()), false
}

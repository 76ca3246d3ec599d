//go:build attacks

package attacks

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// hostileOptions read, write or run something elsewhere, change the node, or take more of it
// than a benchmark may.
var hostileOptions = strings.Split(strings.TrimSpace(`
exec_prerun=/bin/sh -c id
exec_postrun=/bin/sh -c id
opendir=/
read_iolog=/etc/passwd
replay_redirect=/dev/vda
merge_blktrace_file=x
verify_state_load=1
aux-path=/etc
buffer_pattern='/etc/shadow'
verify_pattern='/etc/shadow'
ioengine=external:/target/evil.so
ioengine=/target/evil.so
ioengine=sg
ioengine=net
ioengine=exec
ioengine=http
ioengine=rdma
ioengine=rbd
ioengine=libpmem
ioengine=mtd
ioengine=e4defrag
ioengine=cpuio
include=/etc/passwd
mem=mmaphuge:/dev/hugepages/x
mem=mmapshared:/etc/x
cgroup=/
cgroup_weight=10
cgroup_nodelete=1
uid=0
gid=0
client=attacker.example
server=1
remote-config=x
daemonize=/x
hostname=attacker.example
port=80
http_host=attacker.example
profile=act
fill_device=1
fill_fs=1
bs=$(id)
bs=1g
numjobs=100000
iodepth=1000000
nrfiles=10000000
zonemode=zbd
create_only=1
unlink=/etc
max_open_zones=1
filename=::
include ../../etc/passwd
include /proc/self/environ
trigger=id
trigger-file=/etc/x
trigger-remote=id
zonecapacity=1
read_beyond_wp=1
job_max_open_zones=1
ignore_zone_limits=1
zone_reset_threshold=1
verify_only=1
readonly
ioengine=null
ioengine=io_uring_cmd
ioengine=libiscsi
ioengine=gfapi
ioengine=nbd
ioengine=xnvme
size=${SIZE}
size=$HOME
size=1g*$(id)
size=(1g;id)
bs=${
rw=read\
loops=99999999999
verify_async=100000
buffer_pattern=%p
read_iolog_chunked=1
replay_no_stall=1
donorname=/etc/passwd
inplace=1
pool=rbd
clientname=admin
uri=nbd://attacker.example
nfs_url=nfs://attacker.example
http_s3_key=x
arguments=-c id
program=/bin/sh
cuda_io=posix
`), "\n")

// Each option in a job file and, where it can be, as a parameter. None of them may come as
// far as a worker.
func TestRequestForOptionsOfFioThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	if len(hostileOptions) < 89 {
		t.Fatalf("%d options", len(hostileOptions))
	}
	a := begin(t, fmt.Sprintf("%d options of fio that read, write or run elsewhere", len(hostileOptions)))
	m := a.tenant("restricted")
	jobFile := func(line string) func(*v1alpha1.StorageBenchmarkSpec) {
		return func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Workloads = []v1alpha1.Workload{{Name: "w", Fio: &v1alpha1.FioWorkload{JobFile: "[a]\nrw=read\nsize=1MiB\n" + line + "\n"}}}
			// It would be measured, if it were not refused: by nobody else's node.
			s.Trials.Min = 1
		}
	}
	refused := 0
	var lock sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, line := range hostileOptions {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			b := m.unmade(fmt.Sprintf("hostile-%d", i), jobFile(line))
			if err := m.api.Create(a.ctx, b); err != nil {
				t.Errorf("%s: %v", line, err)
				return
			}
			c := a.ready(b)
			lock.Lock()
			defer lock.Unlock()
			switch c.Reason {
			case reason.InvalidJobFile, reason.InvalidSpec, reason.LimitExceeded:
				refused++
			default:
				a.succeeded("%s is taken: %s: %s", line, c.Reason, c.Message)
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d options refused", refused, len(hostileOptions))
	innocent := m.unmade("innocent", jobFile("bs=4k"))
	m.must(m.api.Create(a.ctx, innocent))
	if c := a.ready(innocent); c.Reason == reason.InvalidJobFile || c.Reason == reason.InvalidSpec {
		a.control("the job file without any of them is taken", fmt.Errorf("%+v", c))
	} else {
		a.control("the job file without any of them is taken", nil)
	}
	a.remove(innocent)
}

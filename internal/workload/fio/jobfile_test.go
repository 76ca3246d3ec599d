package fio

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func check(t *testing.T, c config, mode trial.Mode) error {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return Engine{}.Check(raw, mode)
}

func parameters(pairs ...string) config {
	c := config{Parameters: map[string]string{}}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		c.Parameters[name] = value
	}
	return c
}

// failure is what Check says of a job file.
func failure(t *testing.T, err error) *trial.Failure {
	t.Helper()
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		t.Fatalf("the error is %v, and no failure", err)
	}
	return f
}

func TestJobFilesAreRead(t *testing.T) {
	const text = `
# a comment
; another
[global]
direct=1        ; to the end of the line
size = 64m
stonewall

[first-job]
  rw=randread   # as fio has it
[second]
size=1GiB
time_based=0
[global]
bs=16k
[third]
`
	jobs, err := resolve(config{JobFile: text}, trial.Filesystem, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, j := range jobs {
		got[j.name] = j.options
	}
	want := map[string]map[string]string{
		"first-job": {"direct": "1", "size": "67108864", "stonewall": "1", "rw": "randread"},
		"second":    {"direct": "1", "size": "1073741824", "stonewall": "1"},
		"third":     {"direct": "1", "size": "67108864", "stonewall": "1", "bs": "16384"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsRendered(t *testing.T) {
	jobs, err := resolve(config{JobFile: "[a]\nrw=write\nblocksize=4k,64K\nsize=1g\nruntime=2m\ngroup_reporting\nnumjobs=2\n[b]\nsize=1m\nrandseed=7"}, trial.Filesystem, "")
	if err != nil {
		t.Fatal(err)
	}
	want := `[a]
bs=4096,65536
clat_percentiles=1
lat_percentiles=1
numjobs=2
randrepeat=0
randseed=5
runtime=120000000us
rw=write
size=1073741824
slat_percentiles=1
thread=1
time_based=1
verify_state_save=0

[b]
clat_percentiles=1
lat_percentiles=1
randseed=7
size=1048576
slat_percentiles=1
thread=1
verify_state_save=0
`
	if diff := cmp.Diff(want, render(withSeed(jobs, "5"), always())); diff != "" {
		t.Error(diff)
	}
	if got := render(onDevice(jobs[1:], "/dev/disk/by-path/pci-0000:00:1f.2"), nil); !strings.Contains(got, `filename=/dev/disk/by-path/pci-0000\:00\:1f.2`) {
		t.Errorf("the device is named\n%s", got)
	}
}

// fio itself calculates with its keywords if bc is there, and with parentheses if it was built so.
func TestExpressionsAreCalculated(t *testing.T) {
	jobs, changes, err := resolveChanged(config{JobFile: "[a]\nsize=(2*128k)\nbs=(8k/2)\nnumjobs=$ncpus*2-1", Variables: map[string]string{"ncpus": "4"}}, trial.Filesystem, "")
	if err != nil {
		t.Fatal(err)
	}
	want := "[a]\nbs=4096\nnumjobs=7\nsize=262144\n"
	if got := render(jobs, nil); got != want || len(changes) != 3 {
		t.Errorf("got %s with %q", got, changes)
	}
}

func TestRuntimeImpliesTimeBased(t *testing.T) {
	for text, want := range map[string]bool{
		"[a]\nsize=1m\nruntime=5":                                       true,
		"[global]\nruntime=5\n[a]\nsize=1m":                             true,
		"[a]\nsize=1m\nruntime=5\ntime_based=1":                         true,
		"[a]\nsize=1m\nruntime=5\ntime_based":                           true,
		"[a]\nsize=1m\ntimeout=5":                                       true,
		"[a]\nsize=1m":                                                  false,
		"[a]\nsize=1m\nruntime=5\ntime_based=0":                         false,
		"[global]\ntime_based=0\n[a]\nsize=1m\nruntime=5":               false,
		"[global]\ntime_based=1\nruntime=5\n[a]\nsize=1m\ntime_based=0": false,
		"[a]\nsize=1m\nruntime=5\nloops=2":                              false,
		"[a]\nsize=1m\nruntime=5\nnumber_ios=2":                         false,
		"[a]\nsize=1m\nruntime=5\nio_size=2m":                           false,
		"[a]\nsize=1m\nruntime=5\nverify=md5":                           false,
		"[a]\nsize=1m\nruntime=5\nloops=2\ntime_based=1":                true,
	} {
		jobs, err := resolve(config{JobFile: text}, trial.Filesystem, "")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		rendered := render(jobs, nil)
		if got := strings.Contains(rendered, "time_based=1"); got != want || strings.Contains(rendered, "time_based=0") {
			t.Errorf("%q is rendered as\n%s", text, rendered)
		}
		if !strings.Contains(rendered, "size=1048576") {
			t.Errorf("%q lost its size:\n%s", text, rendered)
		}
	}
}

// What a tenant would write who wants the node. None of it may pass, in whatever
// section, as a parameter or in a job file.
func TestHostileOptionsAreRefused(t *testing.T) {
	for _, line := range []string{
		"exec_prerun=/bin/sh -c id", "exec_postrun=reboot", "filename=::", "opendir=/",
		"read_iolog=/etc/passwd", "replay_redirect=/dev/sda", "merge_blktrace_file=x",
		"ioengine=external:/tmp/evil.so", "ioengine=/tmp/evil.so", "ioengine=sg", "ioengine=net", "ioengine=exec", "ioengine=http", "ioengine=null", "ioengine=io_uring_cmd",
		"include /etc/passwd", "include=/etc/passwd", "include ../../etc/passwd",
		"mem=mmaphuge:/dev/hugepages/x", "mem=mmapshared:/etc/x",
		"cgroup=/", "cgroup_weight=10", "cgroup_nodelete=1", "uid=0", "gid=0",
		"aux-path=/etc", "client=host", "server", "remote-config=x", "daemonize=/x", "trigger=id", "trigger-file=/etc/x",
		"buffer_pattern='/etc/shadow'", "verify_pattern='/etc/shadow'", "verify_pattern=\"a\"'/etc/shadow'", "buffer_pattern=%p", "buffer_pattern=%o", "verify_state_load=1",
		"size=${HOME}", "size=$HOME", "size=1g*$(id)", "bs=`id`", "bs=$(id)", "bs=${", "bs=${a b}", "rw=read$", "bs=4k`id`", "size=(1g+1g", "size=(1g;id)", "size=4k'", "rw=read\\", "size=((((((((((((((((((1))))))))))))))))))",
		"numjobs=1025", "numjobs=0", "numjobs=-1", "iodepth=1000000", "nrfiles=1000000000", "bs=2g", "loops=99999999999", "verify_async=100000",
		"fill_device=1", "kb_base=1001", "profile=act", "zonemode=zbd", "max_open_zones=1",
		"create_only=1", "verify_only=1", "readonly", "\x00=1", "=1", "RW=read", "rw\t=read\x00",
	} {
		name, value, has := strings.Cut(line, "=")
		for _, c := range []config{
			{JobFile: "[a]\nsize=1m\n" + line},
			{JobFile: "[global]\n" + line + "\n[a]\nsize=1m"},
			{CommandLine: "fio --name=a --size=1m '--" + strings.ReplaceAll(line, "'", `'\''`) + "'"},
			{Parameters: map[string]string{"rw": "read", name: value}},
		} {
			if c.Parameters != nil && (!has || value != strings.TrimSpace(value)) || c.CommandLine != "" && (line == "readonly" || name == "aux-path") {
				continue
			}
			err := check(t, c, trial.Filesystem)
			if err == nil {
				t.Errorf("%q was accepted in %+v", line, c)
				continue
			}
			if f := failure(t, err); f.Class != reason.InvalidJobFile && f.Class != reason.LimitExceeded || f.Field == "" || f.Message == "" || f.Remedy == "" {
				t.Errorf("%q: the failure is incomplete: %+v", line, f)
			}
		}
	}
}

// What job files of others hold that leads elsewhere, and is not what they measure: fio never
// sees it, and a change says so.
func TestWhatLeadsElsewhereIsLeftOutAndSaid(t *testing.T) {
	for line, harmless := range map[string]string{
		"filename=/etc/shadow": "filename=shadow", "filename=../../etc/shadow": "filename=shadow", "filename=..": "filename=file",
		"filename=a:/dev/sda": "filename=a:sda", "filename=a/b": "filename=b", `filename=a\:b`: "filename=a_b", "filename=.hidden": "filename=hidden", "filename=-x": "filename=x",
		"filename=-": "filename=file", "filename=$(id)": "", "filename=/dev/a b'c\"": "filename=a_b_c_",
		"filename=/a/x:/b/x": "filename=x:x-2", "filename=x:/b/x": "filename=x:x-2",
		"directory=/etc": "", "directory=/a:/b": "", "filename_format=/etc/$jobname": "filename=a", "filename_format=x.$filenum": "filename=x.0",
		"filename_format=$jobname.$jobnum.$filenum": "", "filename_format=`id`": "filename=_id_",
		"write_bw_log=/etc/cron.d/x": "write_bw_log=1", "write_lat_log=x": "write_lat_log=1", "write_iops_log": "write_iops_log=1", "write_hist_log=/etc/x": "", "write_iolog=/etc/x": "",
		"mem=shmhuge": "", "iomem=mmaphuge": "", "hugepage-size=2m": "", "lockmem=100g": "", "ioscheduler=none": "", "nice=-20": "", "prio=0": "", "prioclass=1": "", "cpumask=1": "",
		"numa_cpu_nodes=0": "", "numa_mem_policy=bind:0": "", "allow_mounted_write=1": "", "output=/etc/x": "", "output-format=normal": "", "clat_percentiles=0": "", "unified_rw_reporting=1": "",
		"verify_dump=1": "", "verify_state_save=1": "", "thread=0": "", "continue_on_error=all": "", "ignore_error=ENOSPC": "", "error_dump=1": "", "max_latency=1s": "",
		"unique_filename=0": "", "name=../../etc/cron.d/x": "", "name=a b;$(id)": "", "name=globally": "",
	} {
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			for _, c := range []config{{JobFile: "[a]\nsize=1m\n" + line}, {JobFile: "[global]\n" + line + "\n[a]\nsize=1m"}} {
				if harmless == "" && line == "filename=$(id)" {
					continue
				}
				jobs, changes, err := resolveChanged(c, mode, "w")
				if err != nil {
					t.Errorf("%q: %v", line, err)
					continue
				}
				text := render(jobs, nil)
				if len(changes) == 0 {
					t.Errorf("%q in %s: no change is said of\n%s", line, mode, text)
				}
				if strings.ContainsAny(text, "$`'\"\\/ ;") {
					t.Errorf("%q: rendered\n%s", line, text)
				}
				name, _, _ := strings.Cut(line, "=")
				switch {
				case mode == trial.Filesystem && harmless != "" && !strings.Contains(text, harmless+"\n"):
					t.Errorf("%q: %s is not in\n%s", line, harmless, text)
				case harmless == "" && strings.Contains(text, "\n"+name+"="), mode == trial.Block && strings.Contains(text, "filename="):
					t.Errorf("%q: rendered\n%s", line, text)
				}
			}
		}
	}
}

func TestRefusalsSayWhereAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		mode   trial.Mode
		want   trial.Failure
	}{
		"a program": {
			config: config{JobFile: "[a]\nsize=1m\nexec_prerun=/bin/sh"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 3: the option exec_prerun is not allowed: it starts a program", Remedy: "remove it"},
		},
		"a misspelling": {
			config: config{Parameters: map[string]string{"rw": "read", "iodpeth": "4"}},
			want:   trial.Failure{Field: "fio.parameters.iodpeth", Message: `"iodpeth" is not a fio option that storagebench allows`, Remedy: "did you mean iodepth?"},
		},
		"a unit of time that fio would take for microseconds": {
			config: config{Parameters: map[string]string{"rw": "read", "runtime": "30sec"}},
			want:   trial.Failure{Field: "fio.parameters.runtime", Message: `runtime: "30sec" has an unknown unit of time, which fio would take for microseconds`, Remedy: "use: time in seconds, or with a unit: us, ms, s, m, h, d"},
		},
		"a time that fio would cut": {
			config: config{Parameters: map[string]string{"rw": "read", "runtime": "2.5"}},
			want:   trial.Failure{Field: "fio.parameters.runtime", Message: `runtime: "2.5" is not one whole number with a unit: fio would use only the digits before ".5"`, Remedy: "use: time in seconds, or with a unit: us, ms, s, m, h, d"},
		},
		"a variable without a value": {
			config: config{JobFile: "[a]\nsize=${SIZE}"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 2: size: the variable SIZE has no value", Remedy: "set the variable in fio.variables, or write the value"},
		},
		"a variable that is misspelt": {
			config: config{JobFile: "[a]\nsize=${SIZE}m\nbs=${BLOCK}", Variables: map[string]string{"SIZE": "1", "BLOCK": "4k", "BLOKC": "8k"}},
			want:   trial.Failure{Field: "fio.variables.BLOKC", Message: "the job file does not use this variable", Remedy: "did you mean BLOCK? Choices: BLOCK, SIZE"},
		},
		"a file that is not given": {
			config: config{JobFile: "[a]\nsize=1m\ninclude common.inc"},
			want:   trial.Failure{Field: "fio.jobFile", Message: `line 3: the file "common.inc" that it includes is not given`, Remedy: "put its text into fio.include, with this name as the key"},
		},
		"an error in a file that is included": {
			config: config{JobFile: "[a]\nsize=1m\ninclude common.inc", Include: map[string]string{"common.inc": "# x\n\nbs=none"}},
			want:   trial.Failure{Field: "fio.jobFile", Message: `common.inc line 3: bs: "none" is not a number, or a size like 4k or 1GiB`, Remedy: "use: size; up to three for read,write,trim"},
		},
		"a file that nothing includes": {
			config: config{JobFile: "[a]\nsize=1m", Include: map[string]string{"common.inc": "bs=4k"}},
			want:   trial.Failure{Field: "fio.include.common.inc", Message: "nothing includes this file", Remedy: "remove it, or include it by this name"},
		},
		"another command": {
			config: config{CommandLine: "fio --name=a --size=1m && fio --name=b"},
			want:   trial.Failure{Field: "fio.commandLine", Message: `line 1: another command follows: "fio --name=b"`, Remedy: "make it a workload of its own"},
		},
		"several problems": {
			config: config{JobFile: "[a]\nsiez=1m\nexec_prerun=id\nbs=x"},
			want:   trial.Failure{Field: "fio.jobFile", Message: `line 2: "siez" is not a fio option that storagebench allows (and 2 more problems: storagebench lint lists all)`, Remedy: "did you mean size?"},
		},
		"no job": {
			config: config{JobFile: "[global]\nrw=read\n"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "the job file has no job, only [global]", Remedy: "add a section named after the job, for example [rand-read]"},
		},
		"options before a section": {
			config: config{JobFile: "rw=read\n[a]\nsize=1m"},
			want:   trial.Failure{Field: "fio.jobFile", Message: `line 1: "rw=read" comes before the first section`, Remedy: "begin with [global] or with a job's name in brackets"},
		},
		"trim on files": {
			config: config{Parameters: map[string]string{"rw": "randtrim"}},
			want:   trial.Failure{Field: "fio.parameters", Message: "the job has rw=randtrim, which files do not support", Remedy: "trim needs a block device: a target with blockDevice, or volumeMode: Block"},
		},
		"too many clones": {
			config: config{JobFile: "[global]\nsize=1m\nnumjobs=256\n[a]\n[b]\n[c]\n[d]\n[e]\n"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "1280 clones run together, more than the limit of 1024", Remedy: "lower numjobs, or let jobs run one after the other (stonewall)"},
		},
		"a value that is missing": {
			config: config{JobFile: "[a]\nsize=1m\niodepth"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 3: iodepth has no value", Remedy: "write iodepth=… (number, 1 to 65536)"},
		},
		"both a job file and parameters": {
			config: config{JobFile: "[a]\nsize=1m", Parameters: map[string]string{"rw": "read"}},
			want:   trial.Failure{Field: "fio", Message: "2 of jobFile, parameters, preset and commandLine are set", Remedy: "set exactly one of fio.jobFile, fio.parameters, fio.preset and fio.commandLine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mode := c.mode
			if mode == "" {
				mode = trial.Filesystem
			}
			f := failure(t, check(t, c.config, mode))
			c.want.Class = reason.InvalidJobFile
			f.Err = nil
			if diff := cmp.Diff(&c.want, f); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultsOfParameters(t *testing.T) {
	for name, c := range map[string]struct {
		parameters, want map[string]string
	}{
		"only rw": {
			map[string]string{"rw": "randread"},
			map[string]string{"rw": "randread", "ioengine": "libaio", "direct": "1", "bs": "4096", "runtime": "30000000us", "time_based": "1"},
		},
		"everything is the user's": {
			map[string]string{"readwrite": "write", "ioengine": "psync", "direct": "0", "bssplit": "4k/50:8k/50", "runtime": "5", "size": "2g"},
			map[string]string{"rw": "write", "ioengine": "psync", "direct": "0", "bssplit": "4096/50:8192/50", "runtime": "5000000us", "time_based": "1", "size": "2147483648"},
		},
		"bounded by loops": {
			map[string]string{"rw": "read", "loops": "3"},
			map[string]string{"rw": "read", "ioengine": "libaio", "direct": "1", "bs": "4096", "loops": "3"},
		},
	} {
		jobs, err := resolve(config{Parameters: c.parameters}, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, jobs[0].options); diff != "" || jobs[0].name != "w" {
			t.Errorf("%s: job %s\n%s", name, jobs[0].name, diff)
		}
	}
}

// Every job file of a command line can include others, so that a short one would read much.
func TestWhatACommandLineReadsIsBounded(t *testing.T) {
	c := config{
		CommandLine: "fio " + strings.Repeat("j ", 340),
		Include:     map[string]string{"j": "[a]\n" + strings.Repeat("include b\n", maxIncludes), "b": strings.Repeat("\n", 8<<10)},
	}
	f := failure(t, check(t, c, trial.Filesystem))
	if !strings.Contains(f.Message, "are read") && !strings.Contains(f.Message, "files are included") {
		t.Errorf("%+v", f)
	}
}

func TestLimitsOfTheText(t *testing.T) {
	for name, text := range map[string]string{
		"too long":          "[a]\n" + strings.Repeat("#", maxText),
		"too many sections": strings.Repeat("[a]\nsize=1m\n", maxSections+1),
		"too many options":  "[a]\n" + strings.Repeat("bs=4k\n", maxOptions+1),
		"an open bracket":   "[a\nsize=1m",
		"more on the line":  "[a] size=1m",
		"an empty name":     "[]\nsize=1m",
		"[Global]":          "[Global]\nsize=1m",
	} {
		if f := failure(t, check(t, config{JobFile: text}, trial.Filesystem)); f.Field != "fio.jobFile" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestAModeThatNeverEndsIsRefused(t *testing.T) {
	_, err := resolve(parameters("rw=read", "io_submit_mode=offload"), trial.Filesystem, "")
	if err == nil || !strings.Contains(err.Error(), "hangs at the end") || !strings.Contains(err.Error(), "offeredRate") {
		t.Errorf("%v", err)
	}
	if _, err := resolve(parameters("rw=read", "io_submit_mode=inline"), trial.Filesystem, ""); err != nil {
		t.Error(err)
	}
}

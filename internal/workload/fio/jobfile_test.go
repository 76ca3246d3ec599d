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
		"exec_prerun=/bin/sh -c id", "exec_postrun=reboot",
		"filename=/etc/shadow", "filename=../../etc/shadow", "filename=..", "filename=a:/dev/sda", "filename=a/b", `filename=a\:b`, "filename=.hidden", "filename=-x",
		"directory=/etc", "opendir=/", "filename_format=/etc/$jobname", "filename_format=x",
		"write_bw_log=/etc/cron.d/x", "write_lat_log=x", "write_iops_log=x", "write_hist_log=x", "write_iolog=x", "log_avg_msec=1",
		"read_iolog=/etc/passwd", "replay_redirect=/dev/sda", "merge_blktrace_file=x",
		"ioengine=external:/tmp/evil.so", "ioengine=/tmp/evil.so", "ioengine=sg", "ioengine=net", "ioengine=exec", "ioengine=http", "ioengine=libaio ",
		"include /etc/passwd", "include=/etc/passwd",
		"mem=mmaphuge:/dev/hugepages/x", "mem=mmapshared:/etc/x", "iomem=shmhuge", "hugepage-size=2m", "lockmem=100g",
		"ioscheduler=none", "cgroup=/", "cgroup_weight=10", "nice=-20", "prioclass=1", "prio=0", "uid=0", "gid=0", "cpumask=1",
		"allow_mounted_write=1", "aux-path=/etc", "output=/etc/x", "output-format=normal", "client=host", "server", "remote-config=x", "daemonize=/x",
		"buffer_pattern='/etc/shadow'", "verify_pattern=0xdead", "verify_dump=1", "verify_state_save=1",
		"size=$mb_memory", "size=1g*$ncpus", "bs=`id`", "bs=$(id)", "description=${HOME}", "description=a'b", `description=a"b`, "description=a;b", "description=a\\b", "size=(1g+1g)",
		"thread=0", "numjobs=257", "numjobs=0", "numjobs=-1", "iodepth=1000000", "nrfiles=100000", "bs=1g",
		"fill_device=1", "kb_base=1000", "unified_rw_reporting=1", "clat_percentiles=0", "profile=act", "wait_for=x", "zonemode=zbd",
		"create_only=1", "readonly", "error_dump=1", "continue_on_error=all", "ignore_error=ENOSPC", "\x00=1", "=1", "RW=read", "rw\t=read\x00",
	} {
		name, value, has := strings.Cut(line, "=")
		job := "[a]\nsize=1m\n" + line
		if strings.HasPrefix(line, "description=a;b") || line == "ioengine=libaio " {
			job = "" // a comment, and trailing blanks, as fio has them
		}
		for _, c := range []config{
			{JobFile: job},
			{JobFile: "[global]\n" + line + "\n[a]\nsize=1m"},
			{Parameters: map[string]string{"rw": "read", name: value}},
		} {
			if c.JobFile == "" && c.Parameters == nil || c.JobFile != "" && job == "" {
				continue
			}
			if c.Parameters != nil && (!has || value != strings.TrimSpace(value)) {
				continue
			}
			err := check(t, c, trial.Filesystem)
			if err == nil {
				t.Errorf("%q was accepted in %+v", line, c)
				continue
			}
			if f := failure(t, err); f.Class != reason.InvalidJobFile || f.Field == "" || f.Message == "" || f.Remedy == "" {
				t.Errorf("%q: the failure is incomplete: %+v", line, f)
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
		"a suffix of Kubernetes": {
			config: config{Parameters: map[string]string{"rw": "read", "size": "10Gi"}},
			want:   trial.Failure{Field: "fio.parameters.size", Message: `size: "10Gi" has a suffix of Kubernetes, which fio's manual and its code read differently`, Remedy: "write 10GiB for powers of 1024"},
		},
		"a unit of time that fio would take for microseconds": {
			config: config{Parameters: map[string]string{"rw": "read", "runtime": "30sec"}},
			want:   trial.Failure{Field: "fio.parameters.runtime", Message: `runtime: "30sec" has an unknown unit of time, which fio would take for microseconds`, Remedy: "use: time in seconds, or with a unit: us, ms, s, m, h, d"},
		},
		"a variable": {
			config: config{JobFile: "[a]\nsize=$mb_memory"},
			want:   trial.Failure{Field: "fio.jobFile", Message: `line 2: size: "$mb_memory" holds the character '$', which is not allowed in a value`, Remedy: "write plain values: variables, expressions and quotes are not expanded"},
		},
		"no job": {
			config: config{JobFile: "[global]\nrw=read\n"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "the job file has no job, only [global]", Remedy: "add a section named after the job, for example [rand-read]"},
		},
		"no size": {
			config: config{JobFile: "[a]\nrw=read\n"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 1: job a has no size", Remedy: "add size=1GiB, or as much as the job needs"},
		},
		"a percentage of nothing": {
			config: config{JobFile: "[a]\nrw=read\nsize=50%"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 1: job a has a size in percent, but a file has no size before it is written", Remedy: "give a size such as 10GiB; percentages are for block devices"},
		},
		"time without end": {
			config: config{JobFile: "[a]\nrw=read\nsize=1m\ntime_based"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 1: job a is time_based and has no runtime", Remedy: "add runtime=30s"},
		},
		"two jobs of one name": {
			config: config{JobFile: "[a]\nsize=1m\n[a]\nsize=1m"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 3: job [a] is already defined at line 1", Remedy: "give each job its own name: results are stored by name"},
		},
		"a name that fio takes for another section": {
			config: config{JobFile: "[globals]\nsize=1m"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 1: [globals] begins with global, so fio would read it as the [global] section", Remedy: "use up to 64 letters, digits, - and _, as in [rand-read]"},
		},
		"options before a section": {
			config: config{JobFile: "rw=read\n[a]\nsize=1m"},
			want:   trial.Failure{Field: "fio.jobFile", Message: `line 1: "rw=read" comes before the first section`, Remedy: "begin with [global] or with a job's name in brackets"},
		},
		"trim on files": {
			config: config{Parameters: map[string]string{"rw": "randtrim"}},
			want:   trial.Failure{Field: "fio.parameters", Message: "the job has rw=randtrim, which files do not support", Remedy: "trim needs a block device: a target with blockDevice, or volumeMode: Block"},
		},
		"files on a device": {
			config: config{JobFile: "[a]\nfilename=x\nsize=1m"}, mode: trial.Block,
			want: trial.Failure{Field: "fio.jobFile", Message: "line 2: filename works only on targets with volume mode Filesystem, but a target has Block", Remedy: "remove filename"},
		},
		"too many clones": {
			config: config{JobFile: "[global]\nsize=1m\nnumjobs=256\n[a]\n[b]\n[c]\n[d]\n[e]\n"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "the jobs have 1280 clones in total, more than the limit of 1024", Remedy: "lower numjobs"},
		},
		"a value that is missing": {
			config: config{JobFile: "[a]\nsize=1m\niodepth"},
			want:   trial.Failure{Field: "fio.jobFile", Message: "line 3: iodepth has no value", Remedy: "write iodepth=… (number, 1 to 65536)"},
		},
		"both a job file and parameters": {
			config: config{JobFile: "[a]\nsize=1m", Parameters: map[string]string{"rw": "read"}},
			want:   trial.Failure{Field: "fio", Message: "2 of jobFile, parameters and preset are set", Remedy: "set exactly one of fio.jobFile, fio.parameters and fio.preset"},
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
			map[string]string{"readwrite": "write", "ioengine": "psync", "buffered": "1", "bssplit": "4k/50:8k/50", "runtime": "5", "size": "2g"},
			map[string]string{"rw": "write", "ioengine": "psync", "buffered": "1", "bssplit": "4096/50:8192/50", "runtime": "5000000us", "time_based": "1", "size": "2147483648"},
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

func TestLimitsOfTheText(t *testing.T) {
	for name, text := range map[string]string{
		"too long":          "[a]\n" + strings.Repeat("#", maxText),
		"too many sections": strings.Repeat("[a]\n", maxSections+1),
		"too many options":  "[a]\n" + strings.Repeat("bs=4k\n", maxOptions+1),
		"an open bracket":   "[a\nsize=1m",
		"more on the line":  "[a] size=1m",
		"an empty name":     "[]\nsize=1m",
		"a path":            "[../../etc/x]\nsize=1m",
		"a dot":             "[.fio-size]\nsize=1m",
		"blanks":            "[a b]\nsize=1m",
	} {
		if f := failure(t, check(t, config{JobFile: text}, trial.Filesystem)); f.Field != "fio.jobFile" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Whatever the text, the parser neither panics nor lets anything through that
// fio, or a shell behind it, would interpret.
func FuzzJobFile(f *testing.F) {
	for _, seed := range []string{
		"[a]\nsize=1m", "[global]\nbs=4k\n[a]\nrw=rw\nsize=50%\n[b]\nstonewall", "[a]\nfilename=x:y\nsize=1k",
		"[", "]", "=", "[a]\n=", "[a]\nbssplit=4k/50:8k/:1m", "[a]\nbsrange=1-2,3-4", "[a]\nsize=99999999999999999999p",
		"[a]\nruntime=999999999999999d", "[a]\nrandom_distribution=zipf:1.2:", "\xff\xfe[a]", "[a]\nsize=1\x00m",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			jobs, err := resolve(config{JobFile: text}, mode, "w")
			if err != nil {
				_ = err.Error()
				continue
			}
			rendered := render(withSeed(jobs, "1"), always())
			if strings.ContainsAny(rendered, "$`'\"\\(){}|&<>*?~!;#\x00") || strings.Contains(rendered, "..") && strings.Contains(rendered, "filename=..") {
				t.Errorf("rendered:\n%s", rendered)
			}
			estimate(jobs)
			// What we render, we read back as the same.
			own := strings.NewReplacer("verify_state_save=0\n", "", "slat_percentiles=1\n", "", "clat_percentiles=1\n", "", "lat_percentiles=1\n", "")
			again, err := resolve(config{JobFile: own.Replace(rendered)}, mode, "w")
			if err != nil {
				t.Fatalf("what was rendered is refused: %v\n%s", err, rendered)
			}
			if render(again, always()) != rendered {
				t.Errorf("rendered differently:\n%s\n%s", rendered, render(again, always()))
			}
		}
	})
}

package fio

import (
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// As fio 3.33 does it: in a job file kb_base counts for the whole section and for those that inherit it, and on a
// command line from where it stands.
func TestKBBaseSaysWhatAKIs(t *testing.T) {
	for text, want := range map[string]string{
		"[a]\nsize=64k\nbs=1k\nkb_base=1000":                             "bs=1000\nsize=64000",
		"[global]\nkb_base=1000\n[a]\nsize=64KiB\nbs=1ki":                "bs=1000\nsize=65536",
		"[global]\nsize=64k\n[a]\nbs=1k\nkb_base=1000":                   "bs=1000\nsize=65536",
		"[global]\nkb_base=1000\n[a]\nkb_base=1024\nbs=1k\nsize=64k":     "bs=1024\nsize=65536",
		"[a]\nkb_base=1000\nsize=1MB\nbs=4k,8k\nrw=write:4k\nruntime=2m": "bs=4000,8000\nruntime=120000000us\nrw=write:4000\nsize=1000000\ntime_based=1",
		"[a]\nkb_base=1000\nsize=1g\nbsrange=4k-8KiB":                    "bsrange=4000-8192\nsize=1000000000",
		"[a]\nkb_base=1000\nsize=1g\nbssplit=4k/50:8k/50":                "bssplit=4000/50:8000/50\nsize=1000000000",
		"fio --name=a --size=64k --kb_base=1000 --bs=1k":                 "bs=1000\nsize=65536",
		"fio --kb_base=1000 --name=a --size=64k --bs=1k":                 "bs=1000\nsize=64000",
	} {
		c := config{JobFile: text}
		if strings.HasPrefix(text, "fio ") {
			c = config{CommandLine: text}
		}
		jobs, changes, err := resolveChanged(c, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.TrimSpace(render(jobs, nil)); got != "[a]\n"+want {
			t.Errorf("%s: rendered\n%s", text, got)
		}
		if all := strings.Join(changes, "\n"); strings.Contains(all, "KiB, MiB and so on") {
			t.Errorf("%s: it says\n%s", text, all)
		}
	}
}

// Groups that run one after the other have their clones one after the other.
func TestTheLimitOfClonesIsThatOfJobsThatRunTogether(t *testing.T) {
	groups := func(n int, each string) string {
		text := "[global]\nsize=1m\nfilename=f\n"
		for i := range n {
			text += fmt.Sprintf("[j%d]\n%s\n", i, each)
		}
		return text
	}
	for text, message := range map[string]string{
		groups(2, "numjobs=1024\nstonewall"): "",
		groups(4, "numjobs=256"):             "",
		groups(5, "numjobs=256"):             "1280 clones run together",
		groups(3, "numjobs=1024\nstonewall"): "3072 clones in total",
	} {
		_, err := resolve(config{JobFile: text}, trial.Filesystem, "w")
		if message == "" && err != nil || message != "" && (err == nil || !strings.Contains(err.Error(), message)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestVariablesInNamesOfFilesAreThoseOfFio(t *testing.T) {
	for text, want := range map[string]string{
		"filename_format=/mnt/${HOST}.$jobnum":     "filename_format=/mnt/nine.$jobnum is left out",
		"filename_format=/mnt/${HOST}-$jobname":    "nine-a in the target's directory",
		"filename=/mnt/${HOST}.$jobnum":            "fio replaces $jobnum only in filename_format",
		"filename=/mnt/$x/${HOST}":                 "nine in the target's directory",
		"filename=${HOST}\ndescription=it costs $": "",
		"filename=${HOST}\noutput=${NOWHERE}":      "output=${NOWHERE} is left out",
	} {
		_, changes, err := resolveChanged(config{JobFile: "[a]\nsize=1m\nnumjobs=2\n" + text, Variables: map[string]string{"HOST": "nine"}}, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if all := strings.Join(changes, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: it says\n%s", text, all)
		}
	}
}

func TestMessagesSayWhatFioWouldMakeOfAValue(t *testing.T) {
	for option, want := range map[string][2]string{
		"iodepth=128*4":                   {"fio calculates only in parentheses, and takes 128*4 for 128", "write iodepth=512, or iodepth=128 for what fio does"},
		"size=1g/2":                       {"takes 1g/2 for 1g", "write size=536870912, or size=1g"},
		"runtime=100*30":                  {"takes 100*30 for 100", "write runtime=3000"},
		"ioengine=splice":                 {"moves pages through a pipe", "psync"},
		"bssplit=4k-8k/50:64k/50":         {`"4k-8k" is a range`, "4k/60:64k/40"},
		"filename=data-${jobnum}":         {"${jobnum} for a variable of the environment, which has no value; it replaces $jobnum, only in filename_format", "filename_format=…$jobnum…"},
		"bs={{ block_size }}":             {`holds the character '{'`, "a blank of a template"},
		"iodepth=@DEPTH@":                 {`holds the character '@'`, "a blank of a template"},
		"kb_base=2000":                    {"neither 1000 nor 1024", "1000 or 1024"},
		"filename_format=${HOST}.$jobnum": {"the variable HOST has no value", "fio.variables"},
	} {
		f := failure(t, check(t, config{JobFile: "[a]\n" + option}, trial.Filesystem))
		if !strings.Contains(f.Message, want[0]) || !strings.Contains(f.Remedy, want[1]) {
			t.Errorf("%s: %s; %s", option, f.Message, f.Remedy)
		}
	}
}

// A trim has no buffer, so that its blocks may be of any size.
func TestBlocksOfTrimsAreAsLargeAsFioTakesThem(t *testing.T) {
	jobs, err := resolve(config{JobFile: "[a]\nrw=trim\nbs=4g\niodepth=64\nioengine=libaio\n[b]\nrw=randtrim\nbsrange=1m-8g"}, trial.Block, "w")
	if err != nil || jobs[0].options["bs"] != "4294967296" || jobs[0].memory(64<<30) > 1<<20 {
		t.Errorf("%v: %v", err, jobs)
	}
	if _, err := resolve(config{JobFile: "[a]\nrw=read\nbs=1g\nsize=4g"}, trial.Block, "w"); err != nil {
		t.Error(err)
	}
	f := failure(t, check(t, config{JobFile: "[a]\nrw=trimwrite\nbs=4k,4k,4g\nsize=8g"}, trial.Block))
	if !strings.Contains(f.Message, "line 3: job a has blocks of 4 GiB, more than the 1 GiB that a buffer may have") || f.Remedy != "lower bs" {
		t.Errorf("%+v", f)
	}
}

// fio takes the two ends of a range in any order.
func TestARangeOfSizesMayBeginWithTheLarger(t *testing.T) {
	jobs, _ := withChanges(t, "[a]\nrw=read\nsize=1m\nbsrange=64k-4k,4k-8k")
	if got := jobs[0].options["bsrange"]; got != "4096-65536,4096-8192" {
		t.Error(got)
	}
}

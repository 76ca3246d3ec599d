package fio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func TestJobsThatNeedMoreMemoryThanUsual(t *testing.T) {
	var names []string
	for i := range 256 {
		names = append(names, fmt.Sprintf("f%d", i))
	}
	many := strings.Join(names, ":")
	sections := ""
	for i := range 8 {
		sections += fmt.Sprintf("[j%d]\nsize=1m\nfilename=%s\n", i, strings.ReplaceAll(many, "f", string(rune('a'+i))))
	}
	for name, c := range map[string]struct {
		config config
		field  string
	}{
		"clones, depth and blocks":      {parameters("rw=read", "numjobs=256", "iodepth=65536", "bs=64m"), fieldParameters},
		"depth and blocks":              {parameters("rw=read", "iodepth=1024", "bs=1m"), fieldParameters},
		"depth alone":                   {parameters("rw=read", "iodepth=65536", "numjobs=4"), fieldParameters},
		"large blocks by an alias":      {parameters("rw=read", "iodepth=32", "blocksize=64m"), fieldParameters},
		"large blocks of one direction": {parameters("rw=read", "iodepth=32", "bs=4k,4k,64m"), fieldParameters},
		"the end of a range":            {parameters("rw=read", "iodepth=32", "bsrange=4k-64m"), fieldParameters},
		"one of a mix":                  {parameters("rw=read", "iodepth=32", "bssplit=4k/99:64m/1"), fieldParameters},
		"a synchronous engine":          {parameters("rw=read", "ioengine=psync", "iodepth=65536", "bs=64k"), fieldParameters},
		"alignment":                     {parameters("rw=read", "numjobs=256", "iomem_align=2m", "bs=2m"), fieldParameters},
		"a map of small blocks":         {parameters("rw=randread", "size=1t", "bs=1"), fieldParameters},
		"maps of files by size":         {parameters("rw=randwrite", "filesize=1t", "nrfiles=100"), fieldParameters},
		"notes of a verification":       {parameters("rw=write", "size=1t", "verify=md5", "loops=1"), fieldParameters},
		"notes over a long time":        {parameters("rw=write", "size=1m", "verify=md5", "runtime=1h", "time_based"), fieldParameters},
		"jobs together":                 {config{JobFile: "[global]\nsize=1g\nbs=1m\niodepth=512\n[a]\n[b]\n[c]"}, fieldJobFile},
		"clones one after the other":    {config{JobFile: "[global]\nsize=2m\nnumjobs=256\nstonewall\nbs=1m\nnrfiles=2\n[a]\n[b]\n[c]\n[d]"}, fieldJobFile},
		"a job to prefill each file":    {config{JobFile: sections}, "fio.prefill"},
	} {
		raw, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if c.field == "fio.prefill" {
			if f := failure(t, check(t, c.config, trial.Filesystem)); f.Class != reason.LimitExceeded || f.Field != c.field || f.Remedy == "" {
				t.Errorf("%s: got %+v", name, f)
			}
			continue
		}
		if need, field := (Engine{}).Memory(raw, trial.Filesystem); need <= workload.MaxMemory || field != c.field {
			t.Errorf("%s: needs %s, which %s says", name, workload.Human(need), field)
		}
	}
}

// More than any operator allows is refused before.
func TestJobsThatAllocateMoreThanAnyMachineAreRefused(t *testing.T) {
	f := failure(t, check(t, parameters("rw=read", "numjobs=256", "iodepth=65536", "bs=64m"), trial.Filesystem))
	if f.Class != reason.LimitExceeded || f.Field != fieldParameters || !strings.Contains(f.Message, "the limit of 64 GiB") || f.Remedy == "" {
		t.Errorf("got %+v", f)
	}
}

func TestJobsThatFitAreAccepted(t *testing.T) {
	for name, c := range map[string]config{
		"the defaults":             parameters("rw=read"),
		"many clones":              parameters("rw=randread", "numjobs=256", "iodepth=4"),
		"large blocks":             parameters("rw=read", "bs=16m", "iodepth=32"),
		"no map":                   parameters("rw=randread", "size=1t", "bs=512", "norandommap=1"),
		"a verification by parts":  parameters("rw=write", "size=1t", "verify=md5", "verify_backlog=1000"),
		"a verification":           parameters("rw=write", "size=1g", "verify=md5"),
		"jobs one after the other": {JobFile: "[global]\nsize=1g\nbs=1m\niodepth=512\nstonewall\n[a]\n[b]\n[c]"},
	} {
		if err := check(t, c, trial.Filesystem); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSizeOfADeviceCounts(t *testing.T) {
	jobs, err := resolve(parameters("rw=randread", "bs=512", "size=100%", "numjobs=16"), trial.Block, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkMemory(fieldParameters, jobs, 1<<30, workload.MaxMemory); err != nil {
		t.Error(err)
	}
	if checkMemory(fieldParameters, jobs, 1<<40, workload.MaxMemory) == nil {
		t.Error("maps of 4 GiB were accepted")
	}
}

func TestThePrefillOfManyClonesFits(t *testing.T) {
	jobs, err := resolve(parameters("rw=read", "size=1m", "numjobs=256"), trial.Filesystem, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkMemory("fio.prefill", fileWriters(jobs), 0, workload.MaxMemory); err != nil {
		t.Error(err)
	}
}

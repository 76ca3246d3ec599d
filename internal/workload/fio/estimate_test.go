package fio

import (
	"encoding/json"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

func TestEstimates(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		want   workload.Estimate
	}{
		"the defaults": {
			parameters("rw=read"), workload.Estimate{Duration: 30 * time.Second, Bytes: 1 << 30},
		},
		"clones have files of their own": {
			parameters("rw=read", "size=1g", "numjobs=4", "runtime=10", "ramp_time=5"), workload.Estimate{Duration: 15 * time.Second, Bytes: 4 << 30},
		},
		"clones share a file that is named": {
			parameters("rw=read", "size=1g", "numjobs=4", "filename=x", "runtime=1m"), workload.Estimate{Duration: time.Minute, Bytes: 1 << 30},
		},
		"files by number and size": {
			parameters("rw=read", "filesize=1m", "nrfiles=100", "runtime=1m"), workload.Estimate{Duration: time.Minute, Bytes: 100 << 20},
		},
		"jobs together, then one by itself": {
			config{JobFile: "[global]\nsize=1g\n[a]\nruntime=10\n[b]\nruntime=20\n[c]\nstonewall\nruntime=5\nstartdelay=1"},
			workload.Estimate{Duration: 26 * time.Second, Bytes: 3 << 30},
		},
		"jobs that share a file, with offsets": {
			config{JobFile: "[global]\nfilename=x\nsize=1g\nruntime=1\n[a]\n[b]\noffset=1g\n[c]\nnumjobs=3\noffset_increment=1g"},
			workload.Estimate{Duration: time.Second, Bytes: 3 << 30},
		},
		"no end in time": {
			config{JobFile: "[a]\nsize=1g\n[b]\nsize=1g\nruntime=5"}, workload.Estimate{Bytes: 2 << 30},
		},
		"a share of a device": {
			config{JobFile: "[a]\nsize=50%\nruntime=5"}, workload.Estimate{Duration: 5 * time.Second, Bytes: 1 << 30},
		},
	} {
		raw, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Engine{}.Estimate(raw)
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if _, err := (Engine{}).Estimate(json.RawMessage(`{"jobFile":"[a]\nexec_prerun=id"}`)); err == nil {
		t.Error("a job file that is refused has an estimate")
	}
}

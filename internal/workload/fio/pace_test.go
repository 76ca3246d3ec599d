package fio

import (
	"encoding/json"
	"testing"

	"storagebench.io/storagebench/internal/workload"
)

var _ workload.Pacer = Engine{}

// The option is found in the job as fio would run it, not in the text.
func TestAJobThatChoosesItsRateIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"a line with blanks":     {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\n  rate = 1m\n"}, "rate"},
		"the global section":     {map[string]any{"jobFile": "[global]\nrate_iops=5\n[a]\nrw=write\nsize=1m\n"}, "rate_iops"},
		"the second job":         {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\n[b]\nrw=write\nsize=1m\nthinktime=5ms\n"}, "thinktime"},
		"writes only":            {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\nrate=,1m\n"}, "rate"},
		"a variable":             {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\nrate=${R}\n", "variables": map[string]string{"R": "2m"}}, "rate"},
		"an included file":       {map[string]any{"jobFile": "[a]\ninclude x.inc\nrw=write\nsize=1m\n", "include": map[string]string{"x.inc": "rate_iops=9\n"}}, "rate_iops"},
		"a comment":              {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\n; rate=5m\n#rate_iops=5\n"}, ""},
		"none":                   {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\nrate=0\nthinktime=0\nrate_iops=,0\n"}, ""},
		"how requests are timed": {map[string]any{"jobFile": "[a]\nrw=write\nsize=1m\nrate_process=linear\n"}, ""},
		"a parameter":            {map[string]any{"parameters": map[string]string{"rw": "write", "size": "1m", "latency_target": "2ms"}}, "latency_target"},
		"a command line":         {map[string]any{"commandLine": "fio --name=a --rw=write --size=1m --rate_iops=50"}, "rate_iops"},
		"one with blanks":        {map[string]any{"commandLine": "fio --name=a --rw=write --size=1m --rate_iops 50"}, "rate_iops"},
		"an offered rate":        {map[string]any{"parameters": map[string]string{"rw": "write", "size": "1m"}, "offeredRate": 50}, "offeredRate"},
		"a device's":             {map[string]any{"jobFile": "[a]\nrw=read\nrate=1m\n"}, "rate"},
		"what Check refuses":     {map[string]any{"jobFile": "[a]\nexec_prerun=sh\nrate=1m\n"}, ""},
	} {
		raw, err := json.Marshal(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Engine{}).Pace(raw); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

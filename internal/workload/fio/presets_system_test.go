//go:build system

package fio

import (
	"regexp"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// short is a preset that ends soon on a small target: what is left of it is the
// pattern.
func short(p preset) string {
	text := regexp.MustCompile(`(?m)^(size|filesize)=.*`).ReplaceAllString(p.body(), "$1=1MiB")
	return regexp.MustCompile(`(?m)^runtime=.*`).ReplaceAllString(text, "runtime=1")
}

func TestEveryPresetMeasuresWhatItsCommentTellsToLookAt(t *testing.T) {
	for _, p := range allPresets(t) {
		for _, mode := range p.modes {
			t.Run(p.name+" on "+string(mode), func(t *testing.T) {
				env := newEnv(t, t.TempDir(), config{JobFile: short(p)})
				if mode == trial.Block {
					env = newDeviceEnv(t, devicetest.Loop(t, 16<<20), config{JobFile: short(p)}) // options for files are left out
				}
				m := measureOnce(t, env)
				for _, l := range p.lookAt {
					if got := figure(m, l); got.Value <= 0 {
						t.Errorf("%s of %q is not there: %+v", l.metric, l.job, got)
					}
				}
			})
		}
	}
}

func figure(m *result.Measurement, l lookAt) result.Metric {
	if l.job == "" {
		return m.Metrics[l.metric]
	}
	for _, part := range m.Parts {
		if part.Name == l.job {
			return part.Metrics[l.metric]
		}
	}
	return result.Metric{}
}

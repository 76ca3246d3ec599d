package filesync

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestAnOfferedRateIsBesideTheAchievedOneAndTheWaitCounts(t *testing.T) {
	for _, arrivals := range []string{"", "Poisson", "Even"} {
		m := measureOnce(t, newEnv(t, t.TempDir(), `{"files":100,"threads":4,"sync":"None","offeredRate":400,"arrivals":"`+arrivals+`"}`))
		value := func(name string) float64 { return m.Metrics[name].Value }
		if m.Metrics["filesync.rate.offered"] != (result.Metric{Unit: result.PerSecond, Value: 400}) {
			t.Errorf("%s: offered is %+v", arrivals, m.Metrics["filesync.rate.offered"])
		}
		if value("filesync.count")+value("filesync.backlog") != 100 || value("filesync.rate") > 400 || value("filesync.rate") <= 0 {
			t.Errorf("%s: %v files, a backlog of %v, %v/s", arrivals, value("filesync.count"), value("filesync.backlog"), value("filesync.rate"))
		}
		if got := strings.Join(m.Operations, " "); got != "filesync wait open write close unlink" {
			t.Errorf("%s: the operations are %s", arrivals, got)
		}
		parts := 0.0
		for _, op := range m.Operations[1:] {
			parts += value(op + ".latency.mean")
		}
		if whole := value("filesync.latency.mean"); parts < whole*0.999 || parts > whole*1.001 {
			t.Errorf("%s: the steps take %v and the whole %v", arrivals, parts, whole)
		}
	}
}

func TestARateBeyondWhatAThreadCanDoLeavesABacklog(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), `{"files":100000,"sync":"None","offeredRate":1000000,"arrivals":"Even"}`))
	count, backlog := m.Metrics["filesync.count"].Value, m.Metrics["filesync.backlog"].Value
	if count <= 0 || backlog <= 0 || count+backlog != 100000 || m.Metrics["filesync.rate"].Value > 990000 {
		t.Errorf("%v files, a backlog of %v, %v/s", count, backlog, m.Metrics["filesync.rate"].Value)
	}
}

func TestAClosedLoopOffersNothing(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), `{"files":10,"sync":"None"}`))
	for name := range m.Metrics {
		if strings.Contains(name, "offered") || strings.Contains(name, "backlog") || strings.HasPrefix(name, "wait.") {
			t.Errorf("a closed loop has %s", name)
		}
	}
}

func TestOffersThatMakeNoSense(t *testing.T) {
	for config, field := range map[string]string{
		`{"offeredRate":-1}`:                       "filesync.offeredRate",
		`{"offeredRate":1000001}`:                  "filesync.offeredRate",
		`{"arrivals":"Even"}`:                      "filesync.arrivals",
		`{"offeredRate":5,"arrivals":"Sometimes"}`: "filesync.arrivals",
	} {
		err := Engine{}.Check(json.RawMessage(config), trial.Filesystem)
		var f *trial.Failure
		if !errors.As(err, &f) || f.Field != field || f.Remedy == "" {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestATrialThatOffersARateTakesAsLongAsItsFiles(t *testing.T) {
	for config, want := range map[string]time.Duration{`{"files":3000,"offeredRate":100}`: 30 * time.Second, `{"files":3000}`: 0} {
		if e, err := (Engine{}).Estimate(json.RawMessage(config)); err != nil || e.Duration != want {
			t.Errorf("%s: %v, %v", config, e, err)
		}
	}
}

package result

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestRatesOfAnEngineAreBounded(t *testing.T) {
	m := &Measurement{}
	now := time.Unix(9, 0)
	for range MaxRates + 5 {
		m.AddRate("read", now, time.Second, 3, 4)
	}
	m.AddRate("read", now, 0, 3, 4)
	if len(m.Rates) != MaxRates || m.Rates[0] != (Rate{Operation: "read", End: now, Seconds: 1, Count: 3, Bytes: 4}) {
		t.Errorf("%d rates, %+v", len(m.Rates), m.Rates[0])
	}
	if err := checkRates(m.Rates); err != nil {
		t.Error(err)
	}
	for want, rates := range map[string][]Rate{
		"the limit is":      append(m.Rates, m.Rates[0]),
		"is NaN":            {{Operation: "read", Seconds: math.NaN()}},
		"is -1":             {{Operation: "read", Count: -1}},
		"is 1e+19":          {{Operation: "read", Bytes: 1e19}},
		"a name of 254":     {{Operation: "read", Job: strings.Repeat("x", 254)}},
		"invalid operation": {{Operation: "read\n"}},
	} {
		if err := checkRates(rates); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAScheduleBecomesMetrics(t *testing.T) {
	m := Metrics{}
	m.SetSchedule(3*time.Second, time.Second, 1000)
	if m["engine.cpu.wait.mean"].Value != 0.001 || m["engine.cpu.wait.share"].Value != 0.25 || m["engine.cpu.slice.mean"].Value != 0.003 {
		t.Errorf("%+v", m)
	}
	none := Metrics{}
	none.SetSchedule(0, 0, 0)
	none.SetSchedule(0, 0, 5)
	if len(none) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

package workload

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestSizesAreReadAsKubernetesWritesThem(t *testing.T) {
	for text, want := range map[string]Bytes{
		`0`: 0, `255`: 255, `"255"`: 255, `"4Ki"`: 4096, `"1.5Gi"`: 3 << 29, `"1k"`: 1000, `"100M"`: 100e6,
		`"1e3"`: 1000, `"12E2"`: 1200, `"1E"`: 1e18, `"1500m"`: 2, `"15Ei"`: 15 << 60, `1e2`: 100,
	} {
		var got Bytes
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{`""`, `"Ki"`, `"4KiB"`, `"-1"`, `"16Ei"`, `"1/2"`, `"0x10"`, `"1e9999"`, `"inf"`, `true`, `null `, `[1]`} {
		b := Bytes(7)
		if err := b.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was read as %d", text, b)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add(`"4Ki"`)
	f.Add(`1e5`)
	f.Fuzz(func(_ *testing.T, text string) {
		var b Bytes
		_ = b.UnmarshalJSON([]byte(text)) // it must not panic
	})
}

func TestAnUnknownFieldOfAConfigurationIsRefused(t *testing.T) {
	var c struct {
		Files int `json:"files"`
	}
	if err := Decode("postmark", json.RawMessage(`{"files":3}`), &c); err != nil || c.Files != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	f, ok := errors.AsType[*trial.Failure](Decode("postmark", json.RawMessage(`{"filles":3}`), &c))
	if !ok || f.Class != reason.InvalidSpec || f.Field != "postmark.filles" || f.Remedy != "did you mean files?" {
		t.Errorf("got %+v", f)
	}
}

func TestErrorsOfTheTargetNameTheFieldToChange(t *testing.T) {
	env := Env{Workload: trial.Workload{Name: "mail"}, Target: trial.Target{Name: "fast", Source: trial.StorageClass}}
	for errno, want := range map[syscall.Errno]trial.Failure{
		syscall.ENOSPC: {Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size"},
		syscall.EDQUOT: {Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size"},
		syscall.EROFS:  {Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size"},
		syscall.EIO:    {Class: reason.TargetUnusable, Field: "spec.targets[fast].storageClass.size"},
		syscall.EMFILE: {Class: reason.WorkloadFailed, Field: "spec.workloads[mail].postmark"},
	} {
		f := env.Refused("postmark", "write a file", errno)
		if f.Class != want.Class || f.Field != want.Field || f.Remedy == "" || !errors.Is(f, errno) {
			t.Errorf("%v: %+v", errno, f)
		}
	}
	if f := env.Refused("postmark", "open", syscall.EINVAL); f.Class != reason.WorkloadFailed {
		t.Errorf("%+v", f)
	}
	if f := env.TooSmall(3<<30, 1<<20, "do"); f.Message != "workload mail needs 3 GiB, but the volume has only 1 MiB available" {
		t.Error(f.Message)
	}
}

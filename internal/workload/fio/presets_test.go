package fio

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// allPresets returns the presets, of which there must be some.
func allPresets(t *testing.T) []preset {
	t.Helper()
	all, err := presets()
	if err != nil || len(all) == 0 {
		t.Fatalf("there are %d presets: %v", len(all), err)
	}
	return all
}

func TestThePresetsThatPeopleQualifyStorageForAreThere(t *testing.T) {
	var names []string
	for _, p := range allPresets(t) {
		names = append(names, p.name)
	}
	want := []string{"backup", "etcd", "general", "kafka", "postgresql-oltp", "postgresql-wal", "prometheus", "vm-boot"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestEveryPresetIsTakenInEachModeThatItClaimsAndInNoOther(t *testing.T) {
	for _, p := range allPresets(t) {
		raw, err := json.Marshal(map[string]string{"preset": p.name})
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			err := Engine{}.Check(raw, mode)
			if slices.Contains(p.modes, mode) {
				if err != nil {
					t.Errorf("%s on %s: %v", p.name, mode, err)
				}
				continue
			}
			if f := failure(t, err); f.Field != "fio.preset" || f.Class != reason.InvalidJobFile || !strings.Contains(f.Message, string(mode)) {
				t.Errorf("%s on %s: %+v", p.name, mode, f)
			}
		}
		if e, err := (Engine{}).Estimate(raw); err != nil || e.Bytes == 0 || e.Bytes > 4<<30 {
			t.Errorf("%s needs %d bytes: %v", p.name, e.Bytes, err)
		}
	}
}

func TestAPresetIsNothingButItsJobFile(t *testing.T) {
	for _, p := range allPresets(t) {
		if !slices.Contains(p.modes, trial.Filesystem) {
			continue
		}
		byName, err := resolve(config{Preset: p.name}, trial.Filesystem, "w")
		if err != nil {
			t.Fatal(err)
		}
		byText, err := resolve(config{JobFile: p.body()}, trial.Filesystem, "w")
		if err != nil {
			t.Fatalf("%s as a job file: %v", p.name, err)
		}
		if diff := cmp.Diff(render(byText, nil), render(byName, nil)); diff != "" {
			t.Errorf("%s: %s", p.name, diff)
		}
	}
}

func TestOptionsForFilesAreLeftOutOnADevice(t *testing.T) {
	for mode, want := range map[trial.Mode]bool{trial.Filesystem: true, trial.Block: false} {
		jobs, err := resolve(config{Preset: "general"}, mode, "w")
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if j.has("filename") != want || j.has("overwrite") != want || j.options["size"] != "2147483648" {
				t.Errorf("%s: job %s is %v", mode, j.name, j.options)
			}
		}
	}
}

func TestEveryPresetSaysWhatToLookAtAndWhereItComesFrom(t *testing.T) {
	for _, p := range allPresets(t) {
		if !strings.HasSuffix(p.question, "?") || len(p.about) < 100 || len(p.lookAt) == 0 || len(p.sources) == 0 || len(p.modes) == 0 {
			t.Errorf("%s: its comment lacks something: %+v", p.name, p)
		}
		for _, source := range p.sources {
			if u, err := url.Parse(source); err != nil || u.Scheme != "https" || u.Host == "" {
				t.Errorf("%s: %q is no address", p.name, source)
			}
		}
	}
}

func TestAPresetThatDoesNotExistIsRefusedWithThoseThatDo(t *testing.T) {
	for name, want := range map[string]string{"etdc": "did you mean etcd? Choices: ", "nonsense": "use one of "} {
		f := failure(t, check(t, config{Preset: name, Prefill: prefillAuto}, trial.Filesystem))
		if f.Field != "fio.preset" || f.Message != `there is no preset "`+name+`"` || !strings.HasPrefix(f.Remedy, want) {
			t.Errorf("%+v", f)
		}
		for _, p := range allPresets(t) {
			if !strings.Contains(f.Remedy, p.name) {
				t.Errorf("the remedy does not name %s: %s", p.name, f.Remedy)
			}
		}
	}
	f := failure(t, check(t, config{Preset: "etcd", JobFile: "[a]\nsize=1m", Prefill: prefillAuto}, trial.Filesystem))
	if f.Field != "fio" || !strings.Contains(f.Message, "2 of") {
		t.Errorf("%+v", f)
	}
}

func TestAPresetWhoseCommentCannotBeReadIsAnError(t *testing.T) {
	if _, err := readPreset("x", "# A question?\n# look at: read.iops\n[a]\n"); err == nil {
		t.Error("a metric without a reason was taken")
	}
}

func TestTheReferenceOfPresetsIsUpToDate(t *testing.T) {
	var want bytes.Buffer
	if err := WritePresets(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/reference/fio-presets.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf(`run "go generate ./internal/workload/fio":%s`, diff)
	}
}

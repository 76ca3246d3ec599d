package tunable

import (
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestSettingsThatNoMachineHasAreRefusedWithTheirField(t *testing.T) {
	for name, c := range map[string]struct {
		settings []Setting
		field    string // empty: accepted
		want     string
	}{
		"nothing":                {},
		"a setting":              {settings: []Setting{{"block.queue.scheduler", "none"}}},
		"a misspelt name":        {[]Setting{{"block.queue.sheduler", "none"}}, "tunables[0].name", "did you mean block.queue.scheduler?"},
		"the kernel's own name":  {[]Setting{{"zfs_arc_max", "1G"}}, "tunables[0].name", "did you mean zfs.module.zfs_arc_max?"},
		"a path":                 {[]Setting{{"block.queue./../../x", "1"}}, "tunables[0].name", "there is no tunable"},
		"another parameter":      {[]Setting{{"zfs.module.zil_replay_disable", "1"}}, "tunables[0].name", "there is no tunable"},
		"another sysctl":         {[]Setting{{"vm.drop_caches", "3"}}, "tunables[0].name", "there is no tunable"},
		"a name without a leaf":  {[]Setting{{"zfs.", "1"}}, "tunables[0].name", "there is no tunable"},
		"a misspelt value":       {[]Setting{{"vm.dirty_ratio", "5"}, {"zfs.dataset.sync", "disable"}}, "tunables[1].value", "did you mean disabled?"},
		"a value that is none":   {[]Setting{{"zfs.dataset.sync", "x"}}, "tunables[0].value", "standard, always, disabled"},
		"a number out of range":  {[]Setting{{"vm.dirty_ratio", "101"}}, "tunables[0].value", "1 to 100"},
		"an unwritable 0":        {[]Setting{{"vm.dirty_bytes", "0"}}, "tunables[0].value", "8KiB"},
		"a boolean of YAML":      {[]Setting{{"zfs.module.zfs_nocacheflush", "true"}}, "tunables[0].value", "0, 1"},
		"an ARC of any size":     {[]Setting{{"zfs.module.zfs_arc_max", "0"}}, "tunables[0].value", "64MiB"},
		"a size that is rounded": {[]Setting{{"block.queue.read_ahead_kb", "66"}}, "tunables[0].value", "multiple of 4"},
		"a record size":          {[]Setting{{"zfs.dataset.recordsize", "100K"}}, "tunables[0].value", "power of two"},
		"a setting twice":        {[]Setting{{"vm.dirty_ratio", "5"}, {"vm.dirty_ratio", "6"}}, "tunables[1].name", "tunables[0] already sets vm.dirty_ratio"},
		"two forms of a setting": {[]Setting{{"vm.dirty_ratio", "5"}, {"vm.dirty_bytes", "1M"}}, "tunables[1].name", "two forms of the same setting"},
		"two names of a cache":   {[]Setting{{"ata.write_cache", "off"}, {"scsi.disk.cache_type", "write through"}}, "tunables[1].name", "of the same setting"},
		"two lines":              {[]Setting{{"block.queue.scheduler", "none\nx"}}, "tunables[0].value", ""},
	} {
		err := Check(c.settings)
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.InvalidSpec || f.Field != c.field || !strings.Contains(f.Error(), c.want) || f.Remedy == "" {
			t.Errorf("%s: got %+v", name, err)
		}
	}
}

func TestValuesHaveOneFormEach(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"zfs.dataset.recordsize", "128K", "131072"},
		{"zfs.dataset.recordsize", "131072", "131072"},
		{"zfs.dataset.recordsize", "1MiB", "1048576"},
		{"zfs.module.zfs_arc_max", "2g", "2147483648"},
		{"zfs.module.zfs_arc_max", "1T", "1099511627776"},
		{"vm.dirty_bytes", "64MB", "67108864"}, // powers of 1024, however it is written
		{"block.queue.nr_requests", "0064", "64"},
		{"block.queue.read_ahead_kb", "0", "0"},
	} {
		tunable, err := Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tunable.Parse(c.value); err != nil || got != c.want {
			t.Errorf("%s %s: got %q, %v; want %s", c.name, c.value, got, err, c.want)
		}
	}
}

func TestNoTunableTakesAnythingThatIsNoValue(t *testing.T) {
	for _, tunable := range Catalogue() {
		for _, value := range []string{
			"", " ", "-1", "+1", "1.5", "0x10", "; id", "$(id)", "../x", "1\n", " 1", "18446744073709551616", "17179869185G", "1KK", "12B", "B", "K", "iB", "--help", "٣",
		} {
			if got, err := tunable.Parse(value); err == nil {
				t.Errorf("%s takes %q for %q", tunable.Name, value, got)
			}
		}
	}
}

func TestTheRiskDependsOnTheValue(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        Risk
	}{
		{"block.queue.write_cache", "write through", DataLoss},
		{"block.queue.write_cache", "write back", None},
		{"zfs.dataset.sync", "disabled", DataLoss},
		{"zfs.dataset.sync", "always", None},
		{"zfs.module.zfs_nocacheflush", "1", DataLoss},
		{"zfs.module.zfs_nocacheflush", "0", None},
		{"zfs.module.zil_nocacheflush", "1", DataLoss},
		{"scsi.disk.cache_type", "temporary write through", DataLoss},
		{"scsi.disk.cache_type", "write through", None}, // the disk itself: slow, and safe
		{"nvme.volatile_write_cache", "off", None},
		{"zfs.module.zfs_arc_max", "1073741824", Memory},
		{"vm.vfs_cache_pressure", "0", Memory},
		{"vm.vfs_cache_pressure", "50", None},
		{"block.queue.scheduler", "bfq", None},
	} {
		tunable, err := Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got, reason := tunable.Risk(c.value); got != c.want || (got == None) != (reason == "") {
			t.Errorf("%s %s: %s, %q; want %s", c.name, c.value, got, reason, c.want)
		}
	}
	if cache, _ := Find("block.queue.write_cache"); cache.Worst() != DataLoss || len(cache.Risks()) != 1 {
		t.Errorf("worst of write_cache: %s, %v", cache.Worst(), cache.Risks())
	}
}

func TestTheCatalogueIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, tunable := range Catalogue() {
		if seen[tunable.Name] {
			t.Errorf("%s is listed twice", tunable.Name)
		}
		seen[tunable.Name] = true
		if tunable.About == "" || tunable.Where == "" || tunable.Values() == "" || tunable.Survives == "" || tunable.Scope == "" || tunable.backend == nil {
			t.Errorf("%s says too little of itself: %+v", tunable.Name, tunable)
		}
		for _, r := range tunable.risks {
			for _, value := range r.values {
				if got, err := tunable.Parse(value); err != nil || got != value {
					t.Errorf("%s has a risk with %q, which it does not take: %v", tunable.Name, value, err)
				}
			}
		}
	}
}

func TestOneKnobIsNotSetTwice(t *testing.T) {
	sda := Knob{Tunable: "block.queue.scheduler", Device: &DeviceID{Name: "sda"}}
	sdb := Knob{Tunable: "block.queue.scheduler", Device: &DeviceID{Name: "sdb"}}
	ratio, bytes := Knob{Tunable: "vm.dirty_ratio"}, Knob{Tunable: "vm.dirty_bytes"}
	if err := CheckAssignments([]Assignment{{Knob: sda}, {Knob: sdb}, {Knob: ratio}}); err != nil {
		t.Error(err)
	}
	if err := CheckAssignments([]Assignment{{Knob: sda}, {Knob: sda, Field: "tunables[1]"}}); err == nil || !strings.Contains(err.Error(), "tunables[1].name: block.queue.scheduler of sda is set twice") {
		t.Error(err)
	}
	if err := CheckAssignments([]Assignment{{Knob: ratio}, {Knob: bytes}}); err == nil || !strings.Contains(err.Error(), "two forms") {
		t.Error(err)
	}
}

func TestAnOrderInWhichOneUndoesAnotherIsRefused(t *testing.T) {
	scheduler, requests := Setting{Name: "block.queue.scheduler", Value: "bfq"}, Setting{Name: "block.queue.nr_requests", Value: "64"}
	if err := Check([]Setting{scheduler, requests}); err != nil {
		t.Errorf("the scheduler first: %v", err)
	}
	f, ok := errors.AsType[*trial.Failure](Check([]Setting{requests, {Name: "vm.dirty_ratio", Value: "5"}, scheduler}))
	if !ok || f.Field != "tunables[2].name" || !strings.Contains(f.Message, "would reset block.queue.nr_requests (tunables[0])") || f.Remedy != "list block.queue.scheduler before block.queue.nr_requests" {
		t.Errorf("the scheduler last: %v", f)
	}
	// Whatever resets another is in the catalogue, and so is what it resets.
	for name, all := range resets {
		for _, n := range append([]string{name}, all...) {
			if _, err := Find(n); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDevicesAndDatasetsMustBeNamedByAPolicy(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"loop*", "loop7", true}, {"loop7", "loop70", false}, {"tank/bench", "tank/bench", true}, {"tank/*", "tank/a/b", false},
		{"tank/*", "tank/a", true}, {trial.Everything, "tank/a/b", true}, {"[", "[", false}, {"", "sda", false},
	} {
		if got := matchesAny([]string{c.pattern}, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
	if matchesAny(nil, "sda") {
		t.Error("no pattern matches something")
	}
}

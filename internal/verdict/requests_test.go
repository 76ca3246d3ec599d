package verdict

import (
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// Others are seen beside workloads of which the sum of what the disks did tells nothing: buffered
// ones, and those that sync.
func TestRequestsOfOthersAreSeen(t *testing.T) {
	worlds := map[string]func() Facts{
		"buffered": func() Facts { return world{reads: 10 * gib, writes: 10 * gib, copies: 1, seconds: 60}.facts() },
		"synced": func() Facts {
			f := world{writes: gib, copies: 1, direct: true, seconds: 60}.facts()
			f.Measurement.Operations = append(f.Measurement.Operations, "sync")
			f.Target.FilesystemType = "btrfs"
			return f
		},
	}
	for name, c := range map[string]struct {
		change func(*Facts)
		effect result.Effect
	}{
		"much":                        {setting("device.foreign.share", 0.5, "device.unknown.share", 0.1), result.Invalidates},
		"all, by a forged document":   {setting("device.foreign.share", 1e9), result.Invalidates},
		"some":                        {setting("device.foreign.share", 0.1), result.Qualifies},
		"twin: hardly":                {setting("device.foreign.share", 0.04), ""},
		"twin: a log":                 {setting("device.foreign.share", 0.5, "device.read.bytes", 0.0, "device.write.bytes", 20e6), ""},
		"twin: threads of the kernel": {setting("device.foreign.share", 0.0, "device.unknown.share", 1.0), ""},
		"twin: it was not observed":   {func(*Facts) {}, ""},
		"twin: nobody knows how long": {setting("device.foreign.share", 0.5, "device.seconds", 0.0), ""},
	} {
		for which, facts := range worlds {
			f := facts()
			c.change(&f)
			got := foreignRequests(&f)
			if c.effect == "" {
				if len(got) != 0 {
					t.Errorf("%s, %s: %+v", which, name, got)
				}
				continue
			}
			if len(got) != 1 || got[0].Name != NoisyNeighbour || got[0].Effect != c.effect || !strings.Contains(got[0].Sentence, "Other processes") {
				t.Errorf("%s, %s: %+v, want %s", which, name, got, c.effect)
			}
			if all := Judge(f); !slices.ContainsFunc(all, func(v result.Verdict) bool { return v.Name == NoisyNeighbour && v.Effect == c.effect }) {
				t.Errorf("%s, %s: the chain says %+v", which, name, all)
			}
		}
	}
}

// What others read is no proof that the workload's data came from the disks.
func TestAReaderDoesNotMakeUpForWhatMemoryAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		disks, foreign, writes float64 // of 10 GiB that the workload read
		change                 func(*Facts)
		found                  bool
	}{
		"memory answered, and others read as much":     {10, 9, 0, nil, true},
		"all came from the disks":                      {20, 10, 0, nil, false},
		"all, and others read five times as much":      {60, 50.5, 0, nil, false},
		"all, and others wrote as much":                {10, 10, 10, nil, false},
		"a part is known of them":                      {10, 9, 0, setting("device.sampled.share", 0.5), false},
		"others are there before the part of the ramp": {10, 9, 0, func(f *Facts) { f.whole = result.Metrics{}; f.whole.Set("device.seconds", result.Seconds, 90) }, false},
		"nobody has observed it":                       {10, 0, 0, nil, false},
	} {
		f := world{reads: 10 * gib, copies: 1, seconds: 60}.facts()
		f.set("device.read.bytes", c.disks*gib, "device.write.bytes", c.writes*gib, "device.foreign.share", c.foreign/(c.disks+c.writes), "device.sampled.share", 1.0)
		if c.change != nil {
			c.change(&f)
		}
		if v := fromMemory(&f); (len(v) > 0) != c.found {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

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

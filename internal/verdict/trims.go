package verdict

import (
	"fmt"
	"regexp"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// trimsAtRandom is a job whose trims do not begin at the same block in each trial.
var trimsAtRandom = regexp.MustCompile(`(?m)^rw=randtrim`)

// thinTrims: what was trimmed had been trimmed before, so that there was nothing to free. Some devices take as long for
// that, so it only qualifies.
func thinTrims(f *Facts) []result.Verdict {
	area, own := f.value("trim"+result.Hot), f.value("trim.bytes")
	if area == 0 || own == 0 || f.value("write.bytes") > 0 {
		return nil
	}
	again := max(0, own+f.TrimmedBefore-area)
	if !trimsAtRandom.MatchString(f.Measurement.Input) {
		again = max(again, min(own, f.TrimmedBefore))
	}
	share, times := min(1, again/own), (own+f.TrimmedBefore)/area
	if _, bad := effect(share); !bad {
		return nil
	}
	return []result.Verdict{{
		Name: ThinTrims, Operation: "trim", Effect: result.Qualifies,
		Sentence: fmt.Sprintf("%s of what was trimmed had been trimmed before, and nothing was written there since: these trims had nothing to free.", percent(share)),
		Settle:   fmt.Sprintf("Trim what holds data: rw=trimwrite, or one trial that trims no more than the %s once.", report.Bytes(area)),
		Evidence: evidence(
			number{"trim.bytes", result.Bytes, own},
			number{"trim.bytes.before", result.Bytes, f.TrimmedBefore},
			number{"area.bytes", result.Bytes, area},
			number{"times", result.Ratio, times},
			number{"share", result.Ratio, share},
		),
	}}
}

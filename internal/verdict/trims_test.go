package verdict

import "storagebench.io/storagebench/internal/result"

// trimPairs are lies of trims that find nothing to free.
var trimPairs = map[string]pair{
	"the same blocks are trimmed again and again": {
		verdict: ThinTrims, operation: "trim", effect: result.Qualifies, lie: trimming("randtrim", 32, 0),
		twins: map[string]func(*Facts){
			"once": trimming("randtrim", 1, 0), "hardly more": trimming("randtrim", 1.1, 0), "each is written after it": both(trimming("randtrim", 32, 0), setting("write.bytes", gib)),
			"of an unknown area": both(trimming("randtrim", 32, 0), func(f *Facts) { delete(f.Measurement.Metrics, "trim"+result.Hot) }),
		},
	},
	"an earlier trial has trimmed all of it": {verdict: ThinTrims, operation: "trim", effect: result.Qualifies, lie: trimming("randtrim", 0.5, 1)},
	"an earlier trial has trimmed the same half": {
		verdict: ThinTrims, operation: "trim", effect: result.Qualifies, lie: trimming("trim", 0.5, 0.5),
		twins: map[string]func(*Facts){"at random, maybe the other one": trimming("randtrim", 0.5, 0.5), "none has": trimming("trim", 0.5, 0)},
	},
}

// trimming makes a world of one that only trims: how often its area, after what earlier trials did.
func trimming(rw string, times, before float64) func(*Facts) {
	return func(f *Facts) {
		input("rw=" + rw)(f)
		f.Measurement.Operations = []string{"trim"}
		f.set("trim.bytes", times*gib, "trim"+result.Hot, gib, "trim.iops", 1000.0, "trim.bandwidth", gib)
		f.set("read.bytes", 0.0, "write.bytes", 0.0, "device.read.bytes", 0.0, "device.write.bytes", 0.0, "device.read.count", 0.0, "device.drain.bytes", 0.0)
		f.TrimmedBefore = before * gib
	}
}

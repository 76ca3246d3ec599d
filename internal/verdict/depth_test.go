package verdict

import "storagebench.io/storagebench/internal/result"

// depthPairs are lies of how many I/Os are in flight.
var depthPairs = map[string]pair{
	"a depth that the engine does not keep": {
		verdict: DepthIgnored, effect: result.Qualifies, lie: setting(result.DepthAsked, 32.0, result.DepthKept, 1.0),
		twins: map[string]func(*Facts){
			"one that it keeps": setting(result.DepthAsked, 32.0, result.DepthKept, 32.0), "nothing is known of it": setting(result.DepthAsked, 32.0),
		},
	},
	"calls that wait for each I/O": {
		verdict: DepthIgnored, effect: result.Qualifies, lie: submitting(32, 0.95, 0.9),
		twins: map[string]func(*Facts){
			"one in flight":         submitting(1, 0.95, 0.9),
			"calls that return":     submitting(32, 0.2, 0.9),
			"more at the disks":     submitting(32, 0.95, 28),
			"calls that compute":    both(submitting(32, 0.95, 0.9), setting("cpu.user", 0.1, "cpu.system", 0.5, "engine.cpu.wait.mean", 5e-6, "engine.cpu.slice.mean", 9e-5)),
			"threads without a CPU": both(submitting(32, 0.95, 0.9), setting("engine.cpu.wait.mean", 45e-6, "engine.cpu.wait.share", 0.5)),
		},
	},
	"calls that wait, and disks that nobody counts": {
		also: []string{NoDeviceEvidence}, twins: map[string]func(*Facts){"their depth is not known": both(submitting(32, 0.95, 0.9), blind)},
	},
}

// submitting has so many I/Os in flight as fio counts them, spends a share of the time of its one thread
// in calls that submit, and has so many of the I/Os at the disks.
func submitting(inFlight, share, atDevice float64) func(*Facts) {
	return func(f *Facts) {
		input("rw=randrw\niodepth=32")(f)
		each := float64(len(f.operations()))
		for _, op := range f.operations() {
			rate := f.value(op + ".iops")
			f.set(op+".latency.mean", inFlight/each/rate, op+".latency.p50", max(3e-6, inFlight/each/rate), op+".submission.mean", share/each/rate)
		}
		f.set("device.queue.depth", atDevice)
	}
}

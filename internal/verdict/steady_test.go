package verdict

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// course is how a workload went: operations per second in each interval.
type course func(i int) float64

// went gives facts samples of so many intervals of an operation.
func went(operation string, intervals int, seconds float64, c course) func(*Facts) {
	return func(f *Facts) {
		if f.Samples == nil {
			f.Samples = &samples.Table{}
		}
		at := time.Unix(1000, 0)
		for i := range intervals {
			at = at.Add(time.Duration(seconds * 1e9))
			row := f.Samples.Add(at, samples.Workload, operation)
			f.Samples.Set(row, samples.Seconds, seconds)
			f.Samples.Set(row, samples.Count, max(0, c(i))*seconds)
		}
	}
}

// reads is a trial that reads, of which nothing but its course is known.
func reads(input string, changes ...func(*Facts)) Facts {
	f := Facts{Measurement: result.Measurement{Metrics: result.Metrics{}, Operations: []string{"read"}, Input: input}}
	for _, change := range changes {
		change(&f)
	}
	return f
}

const oneJob = "[a]\nruntime=10s\nrw=randread\n"

// noise is normal, with a coefficient of variation, and depends on its neighbour by rho.
func noise(r *rand.Rand, cv, rho float64) course {
	last := 0.0
	return func(int) float64 {
		last = rho*last + math.Sqrt(1-rho*rho)*r.NormFloat64()
		return 1000 * math.Exp(cv*last)
	}
}

// A rate that is noise, however wild, is accused in at most one of a hundred trials.
func TestNoiseIsSteady(t *testing.T) {
	for _, c := range []struct{ cv, rho float64 }{{0.02, 0}, {0.1, 0}, {0.3, 0}, {0.1, 0.5}, {0.3, 0.3}, {1, 0}} {
		for _, n := range []int{10, 12, 30, 50, 100, 300} {
			r, accused := rand.New(rand.NewPCG(uint64(n), uint64(1000*c.cv+10*c.rho))), 0
			const trials = 300
			for range trials {
				f := reads(oneJob, went("read", n, 1, noise(r, c.cv, c.rho)))
				if len(notSteady(&f)) > 0 {
					accused++
				}
			}
			// Of correlated noise in few intervals, nobody can tell it from a drift: twice as much.
			if limit := map[bool]float64{false: 0.015, true: 0.03}[c.rho > 0 && n < 100]; float64(accused) > limit*trials {
				t.Errorf("noise of %+v, %d intervals: accused %d of %d times", c, n, accused, trials)
			}
		}
	}
}

// Waves of a file system's own, as of its journal or transaction groups, are not a change.
func TestWavesAreSteady(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, period := range []int{5, 7, 10} {
		n := noise(r, 0.05, 0)
		f := reads(oneJob, went("read", 60, 1, func(i int) float64 {
			return n(i) * (1 + 0.4*math.Sin(2*math.Pi*float64(i)/float64(period)))
		}))
		if v := notSteady(&f); len(v) > 0 {
			t.Errorf("waves of %d s: %+v", period, v)
		}
	}
}

func TestAChangeIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		intervals int
		course    func(n course) course
		cv        float64
	}{
		"a limit is lifted in the middle": {40, func(n course) course { return step(n, 20, 4) }, 0.1},
		"a limit is lifted, of few":       {12, func(n course) course { return step(n, 6, 4) }, 0.02},
		"a cache is full":                 {50, func(n course) course { return step(n, 10, 0.4) }, 0.15},
		"a cache is nearly never full":    {100, func(n course) course { return step(n, 80, 0.2) }, 0.1},
		"a drift":                         {60, func(n course) course { return func(i int) float64 { return n(i) * (1 + float64(i)/60) } }, 0.1},
		"a drift downwards, at length":    {1000, func(n course) course { return func(i int) float64 { return n(i) * (1 - float64(i)/2000) } }, 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			for range 50 {
				f := reads(oneJob, went("read", c.intervals, 0.5, c.course(noise(r, c.cv, 0))))
				judged := Judge(f)
				if v := find(judged, NotSteady, "read"); v == nil || v.Effect != result.Qualifies || v.Operation != "read" {
					t.Fatalf("it is missed: %+v", judged)
				}
			}
		})
	}
}

// A change of which the mean keeps within a tenth of what was before or after it is no more than is left unsaid of any number.
func TestASmallChangeIsLeftUnsaid(t *testing.T) {
	for name, c := range map[string]struct {
		from   int
		factor float64
		seen   bool
	}{
		"a fifth less in the middle":     {20, 0.85, false},
		"a fifth more in the middle":     {20, 1.2, false},
		"half as much in the middle":     {20, 0.5, true},
		"half as much soon":              {4, 0.5, false},
		"half as much near the end":      {35, 0.5, false},
		"nothing for the last two of 20": {36, 0, true},
		"three times as much":            {10, 3, true},
	} {
		f := reads(oneJob, went("read", 40, 0.5, step(noise(rand.New(rand.NewPCG(3, 4)), 0.02, 0), c.from, c.factor)))
		if v := notSteady(&f); (len(v) > 0) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// step is a course whose rate is another from an interval on.
func step(n course, from int, factor float64) course {
	return func(i int) float64 {
		if i >= from {
			return factor * n(i)
		}
		return n(i)
	}
}

func TestTheMomentOfAStepIsTold(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	f := reads(oneJob, went("read", 40, 0.5, step(noise(r, 0.02, 0), 30, 3)))
	v := find(Judge(f), NotSteady, "read")
	if v == nil || math.Abs(v.Evidence["at"].Value-15) > 0.6 || math.Abs(v.Evidence["before"].Value-1000) > 50 || math.Abs(v.Evidence["after"].Value-3000) > 150 {
		t.Errorf("%+v", v)
	}
}

// A second in which nothing completes is said, unless so little does that this is no surprise.
func TestAStallIsSeen(t *testing.T) {
	stalled := func(from, to int, rate float64) course {
		return func(i int) float64 {
			if i >= from && i < to {
				return 0
			}
			return rate
		}
	}
	for name, c := range map[string]struct {
		course course
		stall  float64 // 0: nothing is said
	}{
		"a second":            {stalled(20, 30, 1000), 1},
		"half a second":       {stalled(20, 25, 1000), 0},
		"of a slow workload":  {stalled(20, 30, 5), 0},
		"none":                {stalled(0, 0, 1000), 0},
		"for a ragged second": {stalled(20, 29, 1000), 0.9},
	} {
		f := reads(oneJob, went("read", 50, 0.1, c.course))
		v := notSteady(&f)
		if (len(v) > 0 && v[0].Evidence["stall"].Value > 0) != (c.stall > 0) {
			t.Errorf("%s: %+v", name, v)
		}
		if c.stall > 0 && (math.Abs(v[0].Evidence["stall"].Value-c.stall) > 1e-9 || math.Abs(v[0].Evidence["at"].Value-2) > 1e-9) {
			t.Errorf("%s: %+v", name, v[0])
		}
	}
}

// A stall is as long as the interval, and falls into two of them: something completes in each, but an operation took that long.
func TestAStallBetweenTwoIntervalsIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		slowest float64
		left    [2]float64 // of the rate in the intervals that the stall is in
		seen    bool
	}{
		"in two":                    {1, [2]float64{0.6, 0.4}, true},
		"in one":                    {1, [2]float64{0, 1}, true},
		"beside others that go on":  {1, [2]float64{0.9, 0.9}, false},
		"shorter":                   {0.5, [2]float64{0.75, 0.75}, false},
		"without a slow operation":  {0.01, [2]float64{0.6, 0.4}, false},
		"a slow one of fast ones":   {3, [2]float64{1, 1}, false},
		"longer than two intervals": {2.5, [2]float64{0, 0}, true},
	} {
		n := noise(rand.New(rand.NewPCG(7, 7)), 0.05, 0)
		f := reads(oneJob, went("read", 14, 1, func(i int) float64 {
			if i == 5 || i == 6 {
				return n(i) * c.left[i-5]
			}
			return n(i)
		}))
		f.Measurement.Metrics.Set("read.latency.max", result.Seconds, c.slowest)
		v := notSteady(&f)
		if (len(v) > 0 && v[0].Evidence["stall"].Value > 0) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
		if c.seen && math.Abs(v[0].Evidence["at"].Value-(5+c.left[0])) > 0.2 {
			t.Errorf("%s: %+v", name, v[0])
		}
	}
}

// Where the workload itself changes its rate, nobody is accused.
func TestWorkloadsThatChangeThemselvesAreNotJudged(t *testing.T) {
	changes := went("read", 40, 1, step(func(int) float64 { return 1000 }, 20, 3))
	for name, c := range map[string]struct {
		f    Facts
		seen bool
	}{
		"one job":                    {reads(oneJob, changes), true},
		"an engine of ours":          {reads("", changes), true},
		"clones with a runtime":      {reads("[a]\nnumjobs=4\nruntime=5\ntime_based=1\n", changes), true},
		"clones that may end sooner": {reads("[a]\nnumjobs=4\nruntime=5\n", changes), false},
		"one job until it is done":   {reads("[a]\nsize=1g\n", changes), true},
		"clones until they are done": {reads("[a]\nnumjobs=4\nsize=1g\n", changes), false},
		"jobs of different lengths":  {reads("[a]\nruntime=5\ntime_based=1\n[b]\nruntime=7\ntime_based=1\n", changes), false},
		"jobs at once":               {reads("[a]\nruntime=5\ntime_based=1\n[b]\nruntime=5\ntime_based=1\n", changes), true},
		"jobs of which one is late":  {reads("[a]\nruntime=5\ntime_based=1\n[b]\nruntime=5\ntime_based=1\nstartdelay=2\n", changes), false},
		"jobs of which one may end":  {reads("[a]\nruntime=5\ntime_based=1\n[b]\nruntime=5\n", changes), false},
		"jobs that take turns":       {reads("[a]\nruntime=5\ntime_based=1\n[b]\nruntime=5\ntime_based=1\nstonewall=1\n", changes), false},
		"a search for a depth":       {reads("[a]\nlatency_target=5\nruntime=5\n", changes), false},
		"a mixture": {reads(oneJob, changes, func(f *Facts) {
			f.Measurement.PartsOnly = true
		}), false},
		"no samples":   {reads(oneJob), false},
		"few samples":  {reads(oneJob, went("read", 9, 1, step(func(int) float64 { return 1000 }, 5, 3))), false},
		"two seconds":  {reads(oneJob, went("read", 20, 0.1, step(func(int) float64 { return 1000 }, 5, 3))), false},
		"another's":    {reads(oneJob, went("write", 40, 1, step(func(int) float64 { return 1000 }, 20, 3))), false},
		"steady zeros": {reads(oneJob, went("read", 40, 1, func(int) float64 { return 0 })), false},
	} {
		if v := notSteady(&c.f); (len(v) > 0) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Parts of intervals at the edges tell little of a rate.
func TestShortIntervalsAtTheEdgesDoNotCount(t *testing.T) {
	f := reads(oneJob, went("read", 1, 0.01, func(int) float64 { return 1e6 }), went("read", 20, 1, func(int) float64 { return 1000 }), went("read", 1, 0.2, func(int) float64 { return 0 }))
	row := f.Samples.Add(time.Unix(1, 0), samples.Workload, "read") // that nobody could read
	f.Samples.Set(row, samples.Seconds, math.NaN())
	if s := f.series("read"); len(s.rates) != 20 || s.span() != 20 || s.ends[0] != 1.01 {
		t.Errorf("%+v", s)
	}
	if v := notSteady(&f); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}

// A limit that was there for a part of the time, and decided the rate then, is told.
func TestALimitThatChangesIsTold(t *testing.T) {
	const limit = 1 << 20
	for name, c := range map[string]struct {
		limited func(i int) float64 // NaN: none
		rate    func(limited bool) float64
		seen    bool
	}{
		"lifted":                     {until(10, limit), two(limit, 4*limit), true},
		"begun":                      {from(10, limit), two(limit, 4*limit), true},
		"lowered":                    {func(i int) float64 { return map[bool]float64{true: 4 * limit, false: limit}[i < 10] }, two(limit, 4*limit), true},
		"all the time":               {from(0, limit), two(limit, limit), false},
		"not yet":                    {from(20, limit), two(limit, limit), false},
		"for a moment":               {from(19, limit), two(limit, 4*limit), false},
		"far away":                   {until(10, 100*limit), two(limit, limit), false},
		"as fast as without":         {until(10, limit), two(limit, 1.05*limit), false},
		"the disk is slower than it": {until(10, limit), two(limit/2, limit), false},
	} {
		f := reads(oneJob)
		f.Samples = &samples.Table{}
		f.Target.Devices = []result.Device{{Name: "sda"}}
		for i := range 20 {
			at := time.Unix(int64(i), 0)
			l := c.limited(i)
			machine, disk := f.Samples.Add(at, samples.Machine, ""), f.Samples.Add(at, samples.Disk, "sda")
			f.Samples.Set(machine, samples.Seconds, 1)
			f.Samples.Set(machine, samples.LimitReadBytes, l)
			f.Samples.Set(disk, samples.Seconds, 1)
			f.Samples.Set(disk, samples.ReadBytes, c.rate(l <= limit))
			f.Samples.Set(f.Samples.Add(at, samples.Disk, "sdb"), samples.ReadBytes, 1e12)
		}
		v := limitChanged(&f)
		if (len(v) > 0) != c.seen {
			t.Errorf("%s: %+v", name, v)
		}
		if c.seen && (v[0].Name != Throttled || v[0].Operation != "read" || v[0].Evidence["limit"].Value != limit || v[0].Evidence["limited"].Value != 10 || v[0].Evidence["rate.otherwise"].Value != 4*limit) {
			t.Errorf("%s: %+v", name, v[0])
		}
	}
}

func until(n int, limit float64) func(int) float64 {
	return func(i int) float64 {
		if i < n {
			return limit
		}
		return math.NaN()
	}
}

func from(n int, limit float64) func(int) float64 {
	return func(i int) float64 {
		if i >= n {
			return limit
		}
		return math.NaN()
	}
}

func two(limited, otherwise float64) func(bool) float64 {
	return func(is bool) float64 {
		if is {
			return limited
		}
		return otherwise
	}
}

// Rounds before the first trial that did not become steady qualify it, whatever its operations.
func TestRoundsThatNeverBecameSteadyQualifyATrial(t *testing.T) {
	for name, c := range map[string]struct {
		rates  []float64
		steady *bool
		want   string // empty: no verdict
	}{
		"no rounds":        {},
		"a plain warm-up":  {rates: []float64{9, 5, 2, 1}},
		"they were steady": {rates: []float64{900, 100, 100, 100, 100, 100}, steady: new(true)},
		"they fell to the end": {
			rates: []float64{900, 400, 300, 200, 150, 100}, steady: new(false),
			want: "The storage was not steady when the first trial began: in the last 5 of 6 rounds before it, write.iops lay 130 % of its mean apart, and a line through it moved by 130 %.",
		},
		"they did nothing": {
			rates: make([]float64, 5), steady: new(false),
			want: "The storage was not steady when the first trial began: no operation completed in the last 5 of 5 rounds before it.",
		},
	} {
		f := reads(oneJob)
		f.Precondition = &result.Precondition{MaxRounds: 6, Rounds: len(c.rates), Metric: "write.iops", Unit: result.PerSecond, Rates: c.rates, Steady: c.steady}
		var got string
		for _, v := range Judge(f) {
			if v.Name == NotSteady {
				got = v.Sentence
				if v.Effect != result.Qualifies || v.Operation != "" || v.Evidence["rounds"].Value != float64(len(c.rates)) {
					t.Errorf("%s: %+v", name, v)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

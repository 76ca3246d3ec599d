package fio

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

const (
	// rateLog is what the names of fio's logs of rates begin with, in the scratch directory.
	rateLog = "rate"
	// maxRateLog bounds what is read of one, in bytes. A line has about 30.
	maxRateLog = 16 << 20
	// rateIntervals is about how many intervals a log has at most.
	rateIntervals = 1000
)

// rateInterval is how often fio notes its rates, as often as the runner samples the disks. Of
// a duration that is unknown, 0, nobody can tell how many that will be.
func rateInterval(expected time.Duration) time.Duration {
	switch {
	case expected > 0 && expected < 10*time.Second:
		return 100 * time.Millisecond
	case expected <= rateIntervals*time.Second:
		return time.Second
	default:
		return (expected / rateIntervals).Round(time.Second)
	}
}

// logged are the options with which fio notes its rates over time. Its helper thread does it:
// with log_avg_msec it costs an I/O nothing. All clones share a file.
func logged(env workload.Env, interval time.Duration) map[string]string {
	options := always()
	name := filepath.Join(env.Scratch, rateLog)
	options["write_iops_log"], options["write_bw_log"] = name, name
	options["log_avg_msec"] = strconv.FormatInt(interval.Milliseconds(), 10)
	options["per_job_logs"], options["log_unix_epoch"] = "0", "1"
	return options
}

// directions of a log.
var directions = map[string]string{"0": "read", "1": "write", "2": "trim"}

// readRates reads what fio has noted. What it did after the last interval is not there. Without
// logs there are no rates: the samples then have none of the workload.
func readRates(env workload.Env, interval time.Duration) []result.Rate {
	sums := rateSums{interval: interval, at: map[rateKey]*result.Rate{}}
	for _, log := range []struct {
		name  string
		scale float64
		add   func(r *result.Rate, n float64)
	}{
		{rateLog + "_iops.log", 1, func(r *result.Rate, n float64) { r.Count += n }},
		{rateLog + "_bw.log", 1024, func(r *result.Rate, n float64) { r.Bytes += n }},
	} {
		text, err := tool.ReadBounded(filepath.Join(env.Scratch, log.name), maxRateLog)
		if err != nil {
			return nil
		}
		sums.read(string(text), func(r *result.Rate, perSecond, seconds float64) { log.add(r, perSecond*log.scale*seconds) })
	}
	return sums.sorted()
}

// rateKey is one interval of one operation, of all clones together.
type rateKey struct {
	operation string
	interval  int64
}

type rateSums struct {
	interval time.Duration
	at       map[rateKey]*result.Rate
}

// read reads lines of milliseconds since 1970, a rate per second, a direction, and more. The
// clones' lines follow one another: where the time goes back, another clone begins.
func (s *rateSums) read(text string, add func(r *result.Rate, perSecond, seconds float64)) {
	last := map[string]int64{}
	step := s.interval.Milliseconds()
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ",")
		if len(fields) < 3 {
			continue
		}
		end, err1 := strconv.ParseInt(strings.TrimSpace(fields[0]), 10, 64)
		rate, err2 := strconv.ParseUint(strings.TrimSpace(fields[1]), 10, 53)
		operation := directions[strings.TrimSpace(fields[2])]
		if err1 != nil || err2 != nil || operation == "" || end <= 0 {
			continue
		}
		length := step
		if before := last[operation]; before > 0 && end > before && end-before < 2*step {
			length = end - before
		}
		last[operation] = end
		key := rateKey{operation, (end + step/2) / step}
		r := s.at[key]
		if r == nil {
			if len(s.at) == result.MaxRates {
				return
			}
			r = &result.Rate{Operation: operation, End: time.UnixMilli(end).UTC(), Seconds: float64(length) / 1e3}
			s.at[key] = r
		}
		add(r, float64(rate), float64(length)/1e3)
	}
}

func (s *rateSums) sorted() []result.Rate {
	out := make([]result.Rate, 0, len(s.at))
	for _, r := range s.at {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b result.Rate) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

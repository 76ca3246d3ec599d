package fio

import (
	"cmp"
	"errors"
	"io/fs"
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
// with log_avg_msec it costs an I/O nothing. All clones of a job share a file.
func logged(interval time.Duration) map[string]string {
	options := always()
	options["log_avg_msec"] = strconv.FormatInt(interval.Milliseconds(), 10)
	options["per_job_logs"], options["log_unix_epoch"] = "0", "1"
	return options
}

// logOf is what the names of a job's logs begin with.
func logOf(jobs []job, i int) string {
	if len(jobs) == 1 {
		return rateLog
	}
	return rateLog + "-" + strconv.Itoa(i)
}

// span is when a job was measured.
type span struct{ from, to time.Time }

// include makes the span longer, if it must be.
func (s *span) include(other span) {
	if s.to.IsZero() || !other.to.IsZero() && other.from.Before(s.from) {
		s.from = other.from
	}
	if other.to.After(s.to) {
		s.to = other.to
	}
}

// directions of a log.
var directions = map[string]string{"0": "read", "1": "write", "2": "trim"}

// readRates reads what fio has noted, and when it noted something of each job. What it did after the last interval is not
// there. Without logs there are no rates: the samples then have none of the workload.
func readRates(env workload.Env, interval time.Duration, jobs []job) (rates []result.Rate, ran []span) {
	sums := rateSums{interval: interval, at: map[rateKey]*result.Rate{}}
	ran = make([]span, len(jobs))
	for i := range jobs {
		if len(jobs) > 1 {
			sums.job = jobs[i].name
		}
		for _, log := range []struct {
			name  string
			scale float64
			add   func(r *result.Rate, n float64)
		}{
			{"_iops.log", 1, func(r *result.Rate, n float64) { r.Count += n }},
			{"_bw.log", 1024, func(r *result.Rate, n float64) { r.Bytes += n }},
		} {
			text, err := tool.ReadBounded(filepath.Join(env.Scratch, logOf(jobs, i)+log.name), maxRateLog)
			if len(jobs) > 1 && errors.Is(err, fs.ErrNotExist) {
				continue // the job was shorter than an interval
			}
			if err != nil {
				return nil, make([]span, len(jobs))
			}
			ran[i].include(sums.read(string(text), func(r *result.Rate, perSecond, seconds float64) { log.add(r, perSecond*log.scale*seconds) }))
		}
	}
	return sums.sorted(), withGroups(jobs, ran)
}

// withGroups gives jobs that were too short to be noted the time of those that ran together with them. A job that ran between others has
// none.
func withGroups(jobs []job, ran []span) []span {
	group, of, all := 0, make([]int, len(jobs)), map[int]span{}
	for i, j := range jobs {
		if j.on("stonewall") {
			group++
		}
		of[i] = group
		s := all[group]
		s.include(ran[i])
		all[group] = s
	}
	out := slices.Clone(ran)
	for i := range out {
		if out[i].to.IsZero() {
			out[i] = all[of[i]]
		}
	}
	return out
}

// rateKey is one interval of one operation of a job, of all clones together.
type rateKey struct {
	job, operation string
	interval       int64
}

type rateSums struct {
	interval time.Duration
	// job that is read; empty: the only one, or of many that there is no room for one by one.
	job  string
	many bool
	at   map[rateKey]*result.Rate
}

// read reads lines of milliseconds since 1970, a rate per second, a direction, and more. The
// clones' lines follow one another: where the time goes back, another clone begins. It returns the time that they cover.
func (s *rateSums) read(text string, add func(r *result.Rate, perSecond, seconds float64)) (all span) {
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
		all.include(span{time.UnixMilli(end - length).UTC(), time.UnixMilli(end).UTC()})
		r := s.sum(rateKey{s.job, operation, (end + step/2) / step})
		if r == nil {
			return all
		}
		if r.Seconds == 0 {
			r.End, r.Seconds = time.UnixMilli(end).UTC(), float64(length)/1e3
		}
		add(r, float64(rate), float64(length)/1e3)
	}
	return all
}

// sum returns where to add to: of each job if a result has room for all of them, and of all together otherwise. Nil: there is no
// room for that either.
func (s *rateSums) sum(key rateKey) *result.Rate {
	if s.many {
		key.job = ""
	}
	if r := s.at[key]; r != nil {
		return r
	}
	if len(s.at) == result.MaxRates {
		if s.many || key.job == "" {
			return nil
		}
		s.together()
		return s.sum(key)
	}
	r := &result.Rate{Job: key.job, Operation: key.operation}
	s.at[key] = r
	return r
}

func (s *rateSums) sorted() []result.Rate {
	out := make([]result.Rate, 0, len(s.at))
	for _, r := range s.at {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b result.Rate) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Job, b.Job))
	})
	return out
}

// together adds up what jobs did in the same interval.
func (s *rateSums) together() {
	s.many = true
	all := map[rateKey]*result.Rate{}
	for key, r := range s.at {
		key.job, r.Job = "", ""
		if sum := all[key]; sum != nil {
			sum.Count, sum.Bytes = sum.Count+r.Count, sum.Bytes+r.Bytes
		} else {
			all[key] = r
		}
	}
	s.at = all
}

//go:build system

package blockio

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// both returns a loop device with two collectors: of one all requests are in the sample, of the other
// one of as many windows as set says. There are none where the kernel cannot do it (watched).
func both(t *testing.T) (device string, exact, sample *Collector, set func(shift int)) {
	t.Helper()
	device, exact = watched(t)
	if exact == nil {
		return device, nil, nil, nil
	}
	disks, _ := Disks("/", []string{filepath.Base(device)})
	sample, err := Open(disks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sample.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []*Collector{exact, sample} {
		if err := c.pace.stop(); err != nil {
			t.Fatal(err)
		}
		c.pace = nil
		if err := c.setSampling(0, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	before := 0
	return device, exact, sample, func(shift int) {
		if err := sample.setSampling(0, shift, before); err != nil {
			t.Error(err)
		}
		before = shift
		time.Sleep(4 << windowBits * time.Nanosecond) // until it holds
	}
}

// compared runs f, and returns what both collectors saw of it.
func compared(t *testing.T, exact, sample *Collector, f func()) (all, some result.DeviceRequests, m result.Metrics) {
	t.Helper()
	some, m = during(t, sample, func() { all, _ = during(t, exact, f) })
	return all, some, m
}

// unfinished returns how many requests of an idle disk are thought to be in it.
func unfinished(t *testing.T, c *Collector) (n int) {
	t.Helper()
	var address uint64
	var e [entryN / 8]uint64
	all := c.collection.Maps[mapRequests].Iterate()
	for all.Next(&address, &e) {
		if e[entryIssued/8] != 0 {
			n++
		}
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestASampleEstimatesWhatAllRequestsDid(t *testing.T) {
	device, exact, sample, set := both(t)
	if exact == nil {
		return
	}
	set(3)
	for name, job := range map[string]struct {
		scheduler string
		options   []string
		ops       []string
	}{
		"reads":            {"none", []string{"--rw=randread", "--iodepth=8"}, []string{"read"}},
		"queued":           {"mq-deadline", []string{"--rw=randrw", "--iodepth=256"}, []string{"read", "write"}},
		"merged":           {"mq-deadline", []string{"--rw=write", "--iodepth=256", "--iodepth_batch=32"}, []string{"write"}},
		"writes and syncs": {"none", []string{"--rw=randwrite", "--iodepth=4", "--fsync=16"}, []string{"write", "flush"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler"), []byte(job.scheduler), 0); err != nil {
				t.Fatal(err)
			}
			all, some, m := compared(t, exact, sample, func() {
				fio(t, device, append(job.options, "--bs=4k", "--size=128m", "--ioengine=libaio", "--runtime=5", "--time_based")...)
			})
			for _, op := range job.ops {
				a, s := all.Operations[op], some.Operations[op]
				t.Logf("%s: %d and %d requests, of %d in the sample: latency %d and %d, wait %d and %d", op, a.Count, s.Count, sampled(s),
					a.Latency.Percentile(50), s.Latency.Percentile(50), a.Wait.Percentile(50), s.Wait.Percentile(50))
				near(t, op+": requests", s.Count, a.Count, 0.001)
				near(t, op+": bytes", s.Bytes+1, a.Bytes+1, 0.001)
				if op == "flush" {
					near(t, "flushes in the sample", sampled(s), a.Count, 0)
					near(t, "flushes that ended", s.Latency.Count(), a.Latency.Count(), 0.001)
					continue
				}
				near(t, op+": in the sample", sampled(s), a.Count/8, 0.2)
				near(t, op+": times", s.Latency.Count(), a.Latency.Count(), 0.02)
				for _, p := range []float64{50, 90} {
					alike(t, op+": latency", s.Latency, a.Latency, p)
					alike(t, op+": wait", s.Wait, a.Wait, p)
				}
			}
			near(t, "requests of all origins", sum(some.Origins), sum(all.Origins), 0.02)
			if share := m["device.sampled.share"].Value; job.ops[len(job.ops)-1] != "flush" && math.Abs(share-1.0/8) > 0.2/8 {
				t.Errorf("the sample is said to be %v of all", share)
			}
			if some.Dropped != 0 || all.Dropped != 0 {
				t.Errorf("dropped %d and %d", some.Dropped, all.Dropped)
			}
			if e, s := unfinished(t, exact), unfinished(t, sample); s > e {
				t.Errorf("%d requests are left over, and without a sample %d", s, e)
			}
		})
	}
}

// alike fails unless a percentile of all values is nearly that of the sample.
func alike(t *testing.T, what string, sample, all *histogram.Histogram, p float64) {
	t.Helper()
	// In percent of the values. Requests that are submitted at once are in the sample together, or not at
	// all, so that a sample of some hundred windows tells less than its number of requests.
	const tolerance = 12
	const slack = 300 // nanoseconds: the programs of both collectors run one after the other
	low, got, high := sample.Percentile(p-tolerance), all.Percentile(p), sample.Percentile(min(100, p+tolerance))
	if got+slack < low || got > high+slack {
		t.Errorf("%s: p%v of all is %d, but in the sample p%v is %d and p%v is %d", what, p, got, p-tolerance, low, p+tolerance, high)
	}
}

func sampled(r result.Requests) uint64 {
	if r.Sampled == nil {
		return r.Count
	}
	return *r.Sampled
}

func sum(origins map[string]result.RequestSum) (n uint64) {
	for _, o := range origins {
		n += o.Count
	}
	return n
}

func TestSequentialIsToldFromRandomInASample(t *testing.T) {
	device, exact, sample, set := both(t)
	if exact == nil {
		return
	}
	set(3)
	for name, job := range map[string]struct {
		options []string
		random  [2]float64
	}{
		"one stream":   {[]string{"--rw=read"}, [2]float64{0, 0.03}},
		"four streams": {[]string{"--rw=read", "--numjobs=4", "--offset_increment=64m", "--size=64m", "--group_reporting"}, [2]float64{0, 0.1}},
		"anywhere":     {[]string{"--rw=randread", "--norandommap"}, [2]float64{0.97, 1}},
	} {
		all, some, m := compared(t, exact, sample, func() {
			fio(t, device, append([]string{"--bs=4k", "--ioengine=libaio", "--iodepth=4", "--runtime=3", "--time_based"}, job.options...)...)
		})
		t.Logf("%s: %v of the requests are random (exact %d, %d; sample %d, %d)", name, m["device.seek.random"].Value, all.Sequential, all.Random, some.Sequential, some.Random)
		if got := m["device.seek.random"].Value; got < job.random[0] || got > job.random[1] {
			t.Errorf("%s: %v of the requests are random, want %v", name, got, job.random)
		}
		near(t, name+": reads", some.Sequential+some.Random, all.Sequential+all.Random, 0.001)
	}
}

// The size of the sample changes while there are requests, and all that are in it are seen to end.
func TestTheSampleChangesUnderWay(t *testing.T) {
	device, exact, sample, set := both(t)
	if exact == nil {
		return
	}
	quit, done := make(chan struct{}), make(chan struct{})
	all, some, m := compared(t, exact, sample, func() {
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-quit:
					return
				case <-time.After(20 * time.Millisecond):
					set([]int{0, 3, 1, 4, 2}[i%5])
				}
			}
		}()
		fio(t, device, "--rw=randread", "--bs=4k", "--size=128m", "--ioengine=libaio", "--iodepth=16", "--runtime=5", "--time_based")
		close(quit)
		<-done
	})
	a, s := all.Operations["read"], some.Operations["read"]
	t.Logf("%d and %d reads, %d in the sample, which stand for %d", a.Count, s.Count, sampled(s), s.Latency.Count())
	near(t, "reads", s.Count, a.Count, 0.001)
	near(t, "times", s.Latency.Count(), a.Latency.Count(), 0.02)
	if missed := m["device.requests.missed"].Value; missed > float64(s.Count)/1000 {
		t.Errorf("%v of %d requests are missing", missed, s.Count)
	}
	if n := unfinished(t, sample); n > unfinished(t, exact) {
		t.Errorf("%d requests are left over", n)
	}
}

// The more requests there are, the fewer are in the sample.
func TestTheSampleFollowsTheRate(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	for name, job := range map[string]struct {
		options []string
		all     bool
	}{
		"few":  {[]string{"--rate_iops=2000"}, true},
		"many": {[]string{"--iodepth=32"}, false},
	} {
		// Long enough for a mean: before the first decision all are in the sample, and on a busy machine it comes late.
		const seconds = 6
		d, m := during(t, c, func() {
			fio(t, device, append(job.options, "--rw=randread", "--bs=4k", "--size=128m", "--ioengine=libaio", fmt.Sprint("--runtime=", seconds), "--time_based")...)
		})
		r := d.Operations["read"]
		rate, share := float64(r.Count)/seconds, m["device.sampled.share"].Value
		t.Logf("%s: %.0f reads per second, %v of them in the sample", name, rate, share)
		if job.all && (r.Sampled != nil || share != 1) {
			t.Errorf("of %.0f reads per second, %v are in the sample", rate, share)
		}
		if !job.all && rate > 1.5*maxObserved && share*rate > maxObserved {
			t.Errorf("of %.0f reads per second, %.0f are in the sample", rate, share*rate)
		}
	}
}

package native

import (
	"testing"
	"time"
)

// What threads count is all there, in intervals without gaps.
func TestPacesAreWhatThreadsCount(t *testing.T) {
	const each = 2000
	usage, err := Run(t.Context(), 3, func(thread *Thread) error {
		for range each {
			thread.Count(1, 512)
		}
		deadline := time.Now().Add(250 * time.Millisecond)
		for !thread.Stopped() && time.Now().Before(deadline) {
		}
		thread.Count(1, 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var count, bytes int64
	for i, p := range usage.Paces {
		count, bytes = count+p.Count, bytes+p.Bytes
		if p.Length <= 0 || i > 0 && !p.End.Add(-p.Length).Equal(usage.Paces[i-1].End) {
			t.Errorf("interval %d is %+v", i, p)
		}
	}
	if count != 3*(each+1) || bytes != 3*each*512 || len(usage.Paces) == 0 {
		t.Errorf("%d operations and %d bytes in %d intervals", count, bytes, len(usage.Paces))
	}
	if s := usage.Schedule; s.Ran <= 0 || s.Slices == 0 {
		t.Errorf("the threads were scheduled as %+v", s)
	}
}

// However long a trial takes, readings are bounded, and nothing is lost.
func TestReadingsOfTheMeterAreBounded(t *testing.T) {
	thread := &Thread{}
	m := newMeter([]*Thread{thread})
	m.begin = time.Now()
	m.read(0)
	at := time.Duration(0)
	n := 0
	for at < 2*time.Hour {
		at += m.interval
		thread.Count(1, 2)
		n++
		m.read(at)
		m.thin()
	}
	if m.interval != 8*time.Second || len(m.marks) >= meterMarks || cap(m.marks) != meterMarks {
		t.Errorf("%d readings every %s", len(m.marks), m.interval)
	}
	close(m.stopped)
	var count, bytes int64
	for _, p := range m.end() {
		count, bytes = count+p.Count, bytes+p.Bytes
	}
	if count != int64(n) || bytes != 2*int64(n) {
		t.Errorf("%d operations of %d bytes, want %d", count, bytes, n)
	}
}

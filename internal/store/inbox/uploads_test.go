package inbox

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/store"
)

// stalled sends all of an upload but its end, and then nothing. It returns a channel that closes when the server has
// ended the upload.
func stalled(t *testing.T, in *Inbox, namespace string) <-chan struct{} {
	t.Helper()
	key := namespace + "/b/g1/workers/w.n/summary.json"
	if err := in.Put(t.Context(), namespace+"/b/g1/plan.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	signed, err := in.SignUploads(t.Context(), map[string]int{key: 1 << 20}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	request, err := store.NewForm(t.Context(), signed.Post, key, noise(100<<10), nil)
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := request.Write(&whole); err != nil {
		t.Fatal(err)
	}
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(in.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write(whole.Bytes()[:whole.Len()-1000]); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Read(make([]byte, 1)) // nothing comes before the upload has ended
	}()
	return ended
}

// Whoever has some namespaces, and runs in them, must not keep others from uploading.
func TestUploadsOfManyNamespacesKeepNobodyOut(t *testing.T) {
	in := newInbox(t, &shelf{})
	served(t, in)
	begun(t, in)
	in.uploads.Spared = 200 * time.Millisecond
	var held []<-chan struct{}
	for n := range maxUploads {
		held = append(held, stalled(t, in, fmt.Sprintf("tenant-%d", n)))
	}
	w := worker(t, grant(t, in, time.Hour))
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := w.Put(t.Context(), trialsOf+"t1.json", []byte("x"))
		if err == nil && anyEnded(held) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("somebody else's worker cannot upload, or no upload that does not go on has ended: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// anyEnded reports whether an upload has ended, which happens only when all places were taken.
func anyEnded(held []<-chan struct{}) bool {
	for _, ended := range held {
		select {
		case <-ended:
			return true
		default:
		}
	}
	return false
}

// An upload has time as long as its bytes come, and not beyond.
func TestAnUploadEndsWhenNothingComes(t *testing.T) {
	var until time.Time
	begun := time.Now()
	p := &pace{begun: begun, set: func(at time.Time) error {
		until = at
		return nil
	}}
	for _, step := range []struct {
		bytes int
		want  time.Duration
	}{{0, unknownTime}, {minRate, unknownTime + time.Second}, {9 * minRate, unknownTime + 10*time.Second}, {1000 * minRate, knownTime}} {
		if p.came(step.bytes); until.Sub(begun) != step.want {
			t.Errorf("after %d more bytes the upload may take %s, want %s", step.bytes, until.Sub(begun), step.want)
		}
	}
	p.end()
	if p.came(minRate); until.After(begun) {
		t.Error("an upload that has lost its place goes on")
	}
}

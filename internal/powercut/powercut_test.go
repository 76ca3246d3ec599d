package powercut

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var someRun = Run{ID: strings.Repeat("0f", 16), Block: 512, Records: 20}

// recorded is the image and the log of a run that wrote all its records.
func recorded(t *testing.T, run Run) (image []byte, log string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "records")
	var said bytes.Buffer
	if err := Record(t.Context(), path, Options{Run: run, Buffered: true}, &said); !errors.Is(err, errFull) {
		t.Fatal("Record ended with", err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return image, said.String()
}

// judge reads the log and looks at the image.
func judge(t *testing.T, image []byte, text string) Outcome {
	t.Helper()
	log, err := ReadLog(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := Scan(bytes.NewReader(image), log.Run, log.Run.Records, Damaged)
	if err != nil {
		t.Fatal(err)
	}
	// What a machine says that looked at its own disk is the same.
	again, err := ParseFound(found.String(), log.Run)
	if err != nil || again.String() != found.String() {
		t.Fatalf("%q is read as %q (%v)", found, again, err)
	}
	return Judge(log, again)
}

// TestEveryLogAndEveryLoss cuts a log after each byte, and loses what a disk may and may not lose.
func TestEveryLogAndEveryLoss(t *testing.T) {
	run := someRun
	run.Device = true
	// It is a file; the log says that it was a device.
	image, text := recorded(t, run)
	text = strings.Replace(text, "device=false", "device=true", 1)
	hello := strings.IndexByte(text, '\n') + 1
	for end := hello; end <= len(text); end++ {
		lines := strings.Count(text[:end], "\n")
		wroteN, syncedN := lines/2, (lines-1)/2
		// All there.
		want := Outcome{Verdict: NoLoss, Run: run.ID, Synced: syncedN, Unsynced: wroteN - syncedN}
		if syncedN == 0 {
			want.Verdict = NotTried
		}
		if got := judge(t, image, text[:end]); got != want {
			t.Fatalf("with all there after %q: %+v, expected %+v", text[hello:end], got, want)
		}
		// All lost that may be.
		want.UnsyncedLost = want.Unsynced
		if got := judge(t, image[:syncedN*run.Block], text[:end]); got != want {
			t.Fatalf("with nothing there after %q: %+v, expected %+v", text[hello:end], got, want)
		}
		// Each of the others lost, and spoilt in each way.
		for n := 1; n <= syncedN; n++ {
			for what, spoil := range map[string]func([]byte){
				"zeroed":                 func(b []byte) { clear(b) },
				"in part":                func(b []byte) { clear(b[len(b)/2:]) },
				"one bit":                func(b []byte) { b[(n*97)%len(b)] ^= 1 << (n % 8) },
				"of another run":         func(b []byte) { Run{ID: strings.Repeat("ab", 16), Block: run.Block, Records: 20}.encode(b, n) },
				"another record of ours": func(b []byte) { run.encode(b, n+1) },
			} {
				spoilt := bytes.Clone(image)
				spoil(spoilt[(n-1)*run.Block : n*run.Block])
				got := judge(t, spoilt, text[:end])
				if got.Verdict != Lies || got.Lost != 1 || got.Synced != syncedN {
					t.Fatalf("record %d of %d %s: %+v", n, syncedN, what, got)
				}
			}
		}
	}
}

// TestFilesSayNothingOfUnsynced: nobody knows whether the device had the record.
func TestFilesSayNothingOfUnsynced(t *testing.T) {
	image, text := recorded(t, someRun)
	text = text[:strings.LastIndex(text, "synced")]
	want := Outcome{Verdict: NoLoss, Run: someRun.ID, Synced: 19}
	if got := judge(t, image[:19*512], text); got != want {
		t.Errorf("%+v, expected %+v", got, want)
	}
}

func TestLogsThatNoRecordWrites(t *testing.T) {
	hello := someRun.hello()
	for name, text := range map[string]string{
		"empty":                  "",
		"no beginning":           "wrote 1\n",
		"another version":        strings.Replace(hello, "/1", "/2", 1),
		"a block of zero":        strings.Replace(hello, "block=512", "block=0", 1),
		"a block of a gigabyte":  strings.Replace(hello, "block=512", "block=1073741824", 1),
		"an odd block":           strings.Replace(hello, "block=512", "block=513", 1),
		"too many records":       strings.Replace(hello, "records=20", "records=99999999", 1),
		"records that overflow":  strings.Replace(hello, "records=20", "records=99999999999999999999", 1),
		"a negative number":      strings.Replace(hello, "records=20", "records=-1", 1),
		"a short ID":             strings.Replace(hello, "run=0f", "run=", 1),
		"an ID that is a path":   strings.Replace(hello, someRun.ID, "../../etc/passwd0f0f0f0f0f0f0f0f", 1),
		"no device":              strings.Replace(hello, " device=false", "", 1),
		"synced before written":  hello + "synced 1\n",
		"a gap":                  hello + "wrote 2\n",
		"twice":                  hello + "wrote 1\nwrote 1\n",
		"another one is synced":  hello + "wrote 1\nsynced 2\n",
		"a line without end":     hello + strings.Repeat("w", 1<<20),
		"a first without end":    strings.Repeat("f", 1<<20),
		"an error of the writer": hello + "failed \"x\"\n",
		"an empty line":          hello + "\n",
		"more than there is room": func() string {
			_, text := recorded(t, someRun)
			return text + "wrote 21\n"
		}(),
	} {
		if log, err := ReadLog(strings.NewReader(text)); err == nil {
			t.Errorf("%s: it is read as %+v", name, log)
		}
	}
}

func TestFoundThatNobodyPrints(t *testing.T) {
	for _, text := range []string{"", "0", "-1", "1-", "2-1", "1,1", "3,1-2", "21", "1-21", "1-99999999999", "1,,2", "x", "none,1", " 1"} {
		if found, err := ParseFound(text, someRun); err == nil {
			t.Errorf("%q is read as %q", text, found)
		}
	}
	if _, err := Scan(bytes.NewReader(nil), Run{ID: someRun.ID, Block: 512, Records: -1}, 1, Damaged); err == nil {
		t.Error("a run with -1 records is scanned")
	}
}

// refusing is a file system that does not read one record.
type refusing struct {
	io.ReaderAt
	at  int64
	err error
}

func (r refusing) ReadAt(p []byte, off int64) (int, error) {
	if off == r.at {
		return 0, &os.PathError{Op: "read", Path: "records", Err: r.err}
	}
	return r.ReaderAt.ReadAt(p, off)
}

// TestRecordsThatAFileSystemRefuses: what a cut has damaged is lost, and what may be a disk that is not there is
// only if somebody says so.
func TestRecordsThatAFileSystemRefuses(t *testing.T) {
	image, _ := recorded(t, someRun)
	for err, want := range map[error]struct{ damaged, unreadable string }{
		syscall.EBADMSG: {"1-4,6-20", "1-4,6-20"},
		syscall.EUCLEAN: {"1-4,6-20", "1-4,6-20"},
		syscall.EIO:     {"", "1-4,6-20"},
		syscall.EACCES:  {"", ""},
	} {
		reader := refusing{bytes.NewReader(image), someRun.offset(5), err}
		for _, asked := range []struct {
			loss func(error) bool
			want string
		}{{Damaged, want.damaged}, {Unreadable, want.unreadable}} {
			found, got := Scan(reader, someRun, someRun.Records, asked.loss)
			if asked.want == "" && !errors.Is(got, err) || asked.want != "" && (got != nil || found.String() != asked.want) {
				t.Errorf("%v: found %s (%v), expected %q", err, found, got, asked.want)
			}
		}
	}
}

// FuzzReadLog: whatever is read has the invariants of a log.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte(someRun.hello() + "wrote 1\nsynced 1\nwrote 2\nsyn"))
	f.Add([]byte("flushcheck/1 run= block=1 records=1 direct=1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := ReadLog(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := log.Run.check(); err != nil {
			t.Error(err)
		}
		if log.Synced < 0 || log.Wrote < log.Synced || log.Wrote > log.Synced+1 || log.Wrote > log.Run.Records {
			t.Errorf("%+v", log)
		}
	})
}

// TestRecordStopsAtTheFirstFailure: of the disk, or of the witness.
func TestRecordStopsAtTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	for lines := range 5 {
		path := filepath.Join(dir, string(rune('a'+lines)))
		w := &failing{after: lines}
		if err := Record(t.Context(), path, Options{Run: someRun, Buffered: true}, w); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal("Record ended with", err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		// The line that failed is the last thing that it did.
		if got, want := info.Size()/512, int64((lines+1)/2); got != want {
			t.Errorf("a witness that fails after %d lines: %d records are written, expected %d", lines, got, want)
		}
	}
	if err := Record(t.Context(), filepath.Join(dir, "a"), Options{Run: someRun, Overwrite: true}, io.Discard); err == nil {
		t.Error("a file that exists is overwritten")
	}
	if err := Record(t.Context(), dir, Options{Run: someRun, Overwrite: true}, io.Discard); err == nil {
		t.Error("a directory is overwritten")
	}
	if err := Record(t.Context(), "/dev/null", Options{Run: someRun, Overwrite: true}, io.Discard); err == nil {
		t.Error("a character device is overwritten")
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := Record(t.Context(), "/dev/full", Options{Run: someRun, Overwrite: true}, io.Discard); err == nil {
			t.Error("a full device is no error")
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := Record(ended, filepath.Join(dir, "z"), Options{Run: someRun, Buffered: true}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error("with a context that has ended, Record ended with", err)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after == 0 {
		return 0, io.ErrClosedPipe
	}
	f.after--
	return len(p), nil
}

// TestListen: a machine tells a witness, and loses its power in every way that the witness can see.
func TestListen(t *testing.T) {
	_, text := recorded(t, someRun)
	for name, test := range map[string]struct {
		send    string
		silent  bool
		synced  int
		wantErr bool
	}{
		"all, and hangs up":         {send: text, synced: 20},
		"a part, and hangs up":      {send: text[:len(text)/2], synced: 8},
		"a part, and is silent":     {send: text[:len(text)/2], synced: 8, silent: true},
		"nothing":                   {wantErr: true},
		"nothing, and is silent":    {wantErr: true, silent: true},
		"what is no log":            {send: "GET / HTTP/1.1\r\n\r\n", wantErr: true},
		"a log, and what is none":   {send: text[:len(text)/2] + "\nhello\n", wantErr: true, synced: 8},
		"half of the first line":    {send: text[:20], wantErr: true},
		"half of it, and is silent": {send: text[:20], wantErr: true, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, test.send); err != nil {
				t.Fatal(err)
			}
			silence := time.Minute
			if test.silent {
				silence = 200 * time.Millisecond
			} else if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			var kept bytes.Buffer
			log, err := Listen(t.Context(), listener, silence, &kept)
			if (err != nil) != test.wantErr || log.Synced != test.synced {
				t.Fatalf("%d synced, expected %d (%v)", log.Synced, test.synced, err)
			}
			if test.synced > 0 {
				if again, err := ReadLog(&kept); err != nil || again.Synced != test.synced {
					t.Errorf("the log says %+v (%v)", again, err)
				}
			}
		})
	}
}

func TestListenEndsWithItsContext(t *testing.T) {
	for _, connected := range []bool{false, true} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		if connected {
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, someRun.hello()+"wrote 1\n"); err != nil {
				t.Fatal(err)
			}
		}
		if !connected {
			end()
		}
		log, err := Listen(ctx, listener, time.Minute, endsAfter{end})
		if connected && (err != nil || log.Wrote != 1) || !connected && !errors.Is(err, context.Canceled) {
			t.Errorf("connected %t: %+v, %v", connected, log, err)
		}
	}
}

// endsAfter ends the context when a record was written.
type endsAfter struct{ end func() }

func (e endsAfter) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), wrote) {
		e.end()
	}
	return len(p), nil
}

// TestBound: against draws. A disk that loses with the probability of the bound shows no loss in
// about 5 % of series.
func TestBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, cuts := range []int{1, 3, 20, 100} {
		const series = 20000
		clean := 0
		for range series {
			lossy := false
			for range cuts {
				lossy = lossy || random.Float64() < bound(cuts)
			}
			if !lossy {
				clean++
			}
		}
		if share := float64(clean) / series; share < 0.042 || share > 0.058 {
			t.Errorf("%d cuts: %.1f %% of series show no loss, expected 5 %%", cuts, 100*share)
		}
	}
}

func TestSummarise(t *testing.T) {
	good, bad := Outcome{Verdict: NoLoss, Synced: 9}, Outcome{Verdict: Lies, Synced: 9, Lost: 1}
	dropped := Outcome{Verdict: NoLoss, Synced: 9, Unsynced: 1, UnsyncedLost: 1}
	for name, test := range map[string]struct {
		outcomes []Outcome
		want     Summary
		says     string
	}{
		"none":              {nil, Summary{Verdict: NotTried}, "shows nothing"},
		"none counts":       {[]Outcome{{Verdict: NotTried}}, Summary{Verdict: NotTried}, "shows nothing"},
		"no loss":           {[]Outcome{good, good, {Verdict: NotTried}}, Summary{Verdict: NoLoss, Cuts: 2, Bound: bound(2)}, "no volatile cache to drop"},
		"no loss, but some": {[]Outcome{good, dropped}, Summary{Verdict: NoLoss, Cuts: 2, Dropped: 1, Bound: bound(2)}, "no loss in 2 cuts: with 95 % confidence, fewer than 77.6 % of such cuts lose acknowledged data"},
		"one loss":          {[]Outcome{good, bad, dropped}, Summary{Verdict: Lies, Cuts: 3, Lossy: 1, Dropped: 1}, "1 of 3 cuts lost data"},
	} {
		got := Summarise(test.outcomes)
		if got != test.want {
			t.Errorf("%s: %+v, expected %+v", name, got, test.want)
		}
		if !strings.Contains(got.Sentence(), test.says) {
			t.Errorf("%s: %q does not say %q", name, got.Sentence(), test.says)
		}
	}
}

// TestParseOutcome: what Judge returns is read as it was, and what contradicts itself is not.
func TestParseOutcome(t *testing.T) {
	id := someRun.ID
	for _, want := range []Outcome{
		{Verdict: NoLoss, Run: id, Synced: 9}, {Verdict: NotTried, Run: id, Unsynced: 1, UnsyncedLost: 1},
		{Verdict: Lies, Run: id, Synced: 9, Lost: 2, LostRecords: "1,3"},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseOutcome(data); err != nil || got != want {
			t.Errorf("%s is read as %+v (%v)", data, got, err)
		}
	}
	for _, text := range []string{
		"", "{}", "[]", `{"verdict":"NoLoss"}`,
		`{"verdict":"NoLoss","run":"` + id + `","synced":9,"lost":1}`,
		`{"verdict":"Lies","run":"` + id + `","synced":9,"lost":0}`,
		`{"verdict":"Lies","run":"` + id + `","synced":9,"lost":10}`,
		`{"verdict":"NoLoss","run":"` + id + `","synced":0,"lost":0}`,
		`{"verdict":"NoLoss","run":"` + id + `","synced":-1,"lost":-2}`,
		`{"verdict":"NoLoss","run":"` + id + `","synced":9,"unsynced":2,"unsyncedLost":2}`,
		`{"verdict":"NoLoss","run":"../x","synced":9}`,
		`{"verdict":"NoLoss","run":"` + id + `","synced":9,"more":1}`,
	} {
		if o, err := ParseOutcome([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, o)
		}
	}
}

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/tunable"
)

// sample entries, with everything in them that an entry can have.
func sample() []Entry {
	device := &tunable.DeviceID{Name: "sda", Number: "8:0", DiskSeq: 7, WWID: "naa.5000", Serial: "S\n1", Backing: "/ö.img"}
	seen := tunable.State{Value: "mq-deadline"}
	return []Entry{
		{
			Knob: tunable.Knob{Tunable: "block.queue.scheduler", Device: device}, Owner: Owner{"lab", "flush", "r1", "fast.node-a"}, Stage: Restoring,
			Old: tunable.State{Value: "none"}, New: seen, Seen: &seen, BootID: "b", Time: time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC),
			Companions: []Companion{{Tunable: "block.queue.nr_requests", Old: tunable.State{Value: "128"}, Seen: &seen, Target: &seen}},
		},
		{Knob: tunable.Knob{Tunable: "zfs.dataset.sync", Dataset: &tunable.DatasetID{Name: "tank/a b", GUID: "1", PoolGUID: "2"}}, Stage: Planned, Old: tunable.State{Value: "standard", Source: "inherited from tank"}},
		{Knob: tunable.Knob{Tunable: "vm.dirty_bytes"}, Stage: Applied, Foreign: &seen, Old: tunable.State{Value: "0", Source: "dirty_ratio=20"}},
	}
}

func encoded(tb testing.TB) []byte {
	tb.Helper()
	b, err := encode(sample())
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestAJournalIsReadAsItWasWritten(t *testing.T) {
	got, err := decode(encoded(t))
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// proven fails unless a damaged journal is known for one, and everything that is
// read of it is as it was written.
func proven(tb testing.TB, what string, file []byte) {
	tb.Helper()
	entries, err := decode(file)
	corrupt, ok := errors.AsType[*CorruptError](err)
	if !ok || entries != nil || corrupt.Reason == "" {
		tb.Fatalf("%s: %d entries, %v", what, len(entries), err)
	}
	for _, e := range corrupt.Intact {
		if !containsEntry(sample(), e) {
			tb.Fatalf("%s: an entry that was never written: %+v", what, e)
		}
	}
}

func containsEntry(entries []Entry, e Entry) bool {
	for _, other := range entries {
		if reflect.DeepEqual(other, e) {
			return true
		}
	}
	return false
}

func TestAJournalThatIsCutAnywhereIsDamaged(t *testing.T) {
	file := encoded(t)
	for n := range file {
		proven(t, fmt.Sprintf("the first %d bytes", n), file[:n])
		proven(t, fmt.Sprintf("without the first %d bytes", n+1), file[n+1:])
	}
}

func TestAJournalWithAnyBitFlippedIsDamaged(t *testing.T) {
	file := encoded(t)
	for i := range file {
		for bit := range 8 {
			flipped := bytes.Clone(file)
			flipped[i] ^= 1 << bit
			proven(t, fmt.Sprintf("bit %d of byte %d", bit, i), flipped)
		}
	}
}

func TestLinesThatAreWholeButNotThoseThatWereWrittenAreDamage(t *testing.T) {
	lines := strings.SplitAfter(string(encoded(t)), "\n")
	head, a, b, c := lines[0], lines[1], lines[2], lines[3]
	other, err := encode(sample()[:1])
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"one is missing":          head + a + c,
		"the last is missing":     head + a + b,
		"one is there twice":      head + a + b + c + c,
		"two changed places":      head + b + a + c,
		"one in place of another": head + a + a + c,
		"no head":                 a + b + c,
		"two heads":               head + head + a + b + c,
		"another head":            strings.SplitAfter(string(other), "\n")[0] + a + b + c,
		"something behind":        head + a + b + c + "x",
		"an empty line behind":    head + a + b + c + "\n",
		"zeros":                   string(make([]byte, len(head))),
		"zeros behind":            head + a + b + c + "\x00\x00",
		"a line for Windows":      strings.Replace(head+a+b+c, "\n", "\r\n", 1),
	} {
		proven(t, name, []byte(file))
	}
}

func TestAJournalOfAnotherVersionIsNotTouched(t *testing.T) {
	var b bytes.Buffer
	if err := appendRecord(&b, header{Schema: "storagebench.io/journal.v2", Sum: sum(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(b.Bytes()); err == nil || !strings.Contains(err.Error(), "journal.v2") {
		t.Errorf("got %v", err)
	}
}

// FuzzAJournalNeverYieldsAnEntryThatWasNotWritten cuts and changes a journal, and
// reads what comes of it, and anything else.
func FuzzAJournalNeverYieldsAnEntryThatWasNotWritten(f *testing.F) {
	file := encoded(f)
	f.Add(file, 0, byte(0), len(file))
	f.Add(file, 10, byte(1), len(file)-1)
	f.Add(file[:100], 70, byte(32), 90)
	f.Add([]byte{}, 0, byte(0), 0)
	f.Fuzz(func(t *testing.T, base []byte, at int, with byte, length int) {
		changed := bytes.Clone(base)
		if at >= 0 && at < len(changed) {
			changed[at] ^= with
		}
		if length >= 0 && length < len(changed) {
			changed = changed[:length]
		}
		entries, err := decode(changed)
		if err == nil {
			// It is a journal: then it is, byte for byte, what is written for its entries,
			// unless somebody has made up sums that are right for another text of the same.
			again, err := encode(entries)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := decode(again); err != nil || len(second) != len(entries) {
				t.Fatalf("%d entries, then %d, %v", len(entries), len(second), err)
			}
			if bytes.HasPrefix(file, changed) && !bytes.Equal(file, changed) {
				t.Fatalf("a part of the journal was taken for one: %q", changed)
			}
			return
		}
		corrupt, ok := errors.AsType[*CorruptError](err)
		if !ok || entries != nil {
			t.Fatalf("%v, %v", entries, err)
		}
		if bytes.Equal(base, file) {
			for _, e := range corrupt.Intact {
				if !containsEntry(sample(), e) {
					t.Fatalf("an entry that was never written: %+v", e)
				}
			}
		}
	})
}

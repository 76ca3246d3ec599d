package postmark

import (
	"testing"
	"time"
)

// account is what a script decides, in the words of the original's report.
type account struct {
	created, createdAlone, read, appended, deleted, deletedAlone int
	bytesRead, bytesWritten                                      string
}

// play carries a script out on paper.
func play(r rules, transactions int, seed uint32) account {
	random := newRandom(seed)
	if r.compatible {
		sourceText(random, r.maxSize, r.maxSize)
	}
	s, a := newScript(r, random), account{}
	var read, written float32
	for range r.files {
		written += float32(s.create().bytes)
		a.created++
		a.createdAlone++
	}
	for range transactions {
		for half := range 2 {
			op := s.half(half)
			if op.skipped {
				continue
			}
			switch op.kind {
			case readFile:
				a.read++
				read += float32(op.bytes)
			case appendFile:
				a.appended++
				written += float32(op.bytes)
			case createFile:
				a.created++
				written += float32(op.bytes)
			case deleteFile:
				a.deleted++
			}
		}
	}
	for {
		if _, ok := s.next(); !ok {
			break
		}
		a.deleted++
		a.deletedAlone++
	}
	a.bytesRead, a.bytesWritten = scaled(read), scaled(written)
	return a
}

func original(files int) rules {
	return rules{compatible: true, files: files, minSize: 500, maxSize: 10000, readBias: 5, createBias: 5}
}

func TestTheDecisionsAreThoseOfTheOriginal(t *testing.T) {
	for name, c := range map[string]struct {
		files, transactions int
		want                account
	}{
		"its defaults":           {500, 500, account{764, 500, 243, 257, 764, 528, "1.36 megabytes", "4.45 megabytes"}},
		"a million transactions": {20000, 1000000, account{519830, 20000, 500124, 494776, 519830, 19660, "3240.97 megabytes", "3365.07 megabytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			if got := play(original(c.files), c.transactions, 42); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			t.Log(time.Since(begin))
		})
	}
}

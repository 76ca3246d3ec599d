package postmark

import "testing"

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

func originalRules(files int) rules {
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
			if got := play(originalRules(c.files), c.transactions, 42); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestWhatCannotBeDoneIsSkipped(t *testing.T) {
	script := func(r rules) *script {
		r.files, r.minSize, r.maxSize = 2, 100, 100
		s := newScript(r, newRandom(1))
		for range r.files {
			s.create()
		}
		return s
	}
	for _, compatible := range []bool{false, true} {
		s := script(rules{compatible: compatible, createBias: 10})
		if op := s.half(0); op.kind != appendFile || !op.skipped {
			t.Errorf("an append to a full file: %+v", op)
		}
		if first, second, third := s.half(1), s.half(1), s.half(1); first.skipped || second.skipped || !third.skipped || third.kind != createFile {
			t.Errorf("a create with a full table: %+v", third)
		}
		s = script(rules{compatible: compatible, readBias: 10})
		if first, second, third := s.half(1), s.half(1), s.half(1); first.skipped || second.skipped || !third.skipped || third.kind != deleteFile {
			t.Errorf("a delete where there is no file: %+v", third)
		}
		if op := s.half(0); op.kind != readFile || !op.skipped {
			t.Errorf("a read where there is no file: %+v", op)
		}
		s = script(rules{compatible: compatible, readBias: -1, createBias: -1})
		if first, second := s.half(0), s.half(1); first.kind != nothing || second.kind != nothing {
			t.Errorf("biases of -1: %+v, %+v", first, second)
		}
	}
}

func TestRepeatsAndThreadsDecideOtherwise(t *testing.T) {
	seen := map[uint32]bool{}
	for _, seed := range []int64{0, 1, 42} {
		for repeat := range 10 {
			for thread := range 10 {
				seen[seedOf(seed, repeat, thread)] = true
			}
		}
	}
	if len(seen) != 300 {
		t.Errorf("%d seeds of 300", len(seen))
	}
}

func BenchmarkDecisions(b *testing.B) {
	for name, compatible := range map[string]bool{"Modern": false, "Compatible": true} {
		b.Run(name, func(b *testing.B) {
			r := originalRules(20000)
			r.compatible = compatible
			s := newScript(r, newRandom(42))
			for range r.files {
				s.create()
			}
			b.ReportAllocs()
			for b.Loop() {
				s.half(0)
				s.half(1)
			}
		})
	}
}

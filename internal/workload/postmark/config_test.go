package postmark

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestWhatIsAccepted(t *testing.T) {
	for _, config := range []string{
		`{}`,
		`{"mode":"Modern","files":20000,"transactions":100000,"minSize":"500","maxSize":"10k","threads":4,"durability":"FileAndDirectory","seed":0}`,
		`{"mode":"Compatible","transactions":10,"seed":1,"buffered":false,"subdirectories":1000}`,
		`{"files":1,"transactions":1}`,
		`{"minSize":1,"maxSize":"1Gi","readBlockSize":1,"writeBlockSize":"64Mi"}`,
		`{"readBias":-1}`, `{"createBias":-1}`, `{"readBias":0,"createBias":10}`,
		`{"files":100,"transactions":100,"createBias":0}`,
		`{"transactions":10000000000,"threads":3}`,
	} {
		if err := (Engine{}).Check(json.RawMessage(config), trial.Filesystem); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestWhatIsRefusedNamesItsField(t *testing.T) {
	for config, want := range map[string]struct{ field, message string }{
		`{"files":0}`:                     {"files", "0 is not between 1 and 100000000"},
		`{"files":100000001}`:             {"files", "between"},
		`{"transactions":0}`:              {"transactions", "between"},
		`{"transactions":10000000001}`:    {"transactions", "between"},
		`{"subdirectories":-1}`:           {"subdirectories", "between"},
		`{"subdirectories":1000001}`:      {"subdirectories", "between"},
		`{"minSize":0}`:                   {"minSize", "0 is not between 1 and 1Gi"},
		`{"maxSize":"1.1Gi"}`:             {"maxSize", "1Gi"},
		`{"minSize":"20k"}`:               {"maxSize", "10000 is less than minSize, which is 20000"},
		`{"readBlockSize":"65Mi"}`:        {"readBlockSize", "64Mi"},
		`{"writeBlockSize":"0"}`:          {"writeBlockSize", "64Mi"},
		`{"readBias":11}`:                 {"readBias", "-1 and 10"},
		`{"createBias":-2}`:               {"createBias", "-1 and 10"},
		`{"readBias":-1,"createBias":-1}`: {"createBias", "do nothing"},
		`{"createBias":0,"files":100}`:    {"createBias", "100 files do not last for 100000 transactions"},
		`{"threads":0}`:                   {"threads", "between"},
		`{"threads":257}`:                 {"threads", "between"},
		`{"threads":8,"files":7}`:         {"threads", "8 threads need at least as many files, but files is 7"},
		`{"threads":8,"readBlockSize":"64Mi","writeBlockSize":"64Mi"}`: {"threads", "1 GiB of memory"},
		`{"seed":4294967296}`:                             {"seed", "between"},
		`{"durability":"Fsync"}`:                          {"durability", "Fsync"},
		`{"mode":"modern"}`:                               {"mode", "modern"},
		`{"buffered":true}`:                               {"buffered", "Modern"},
		`{"transactions":10000000000}`:                    {"transactions", "at most 4294967295 files"},
		`{"mode":"Compatible","threads":2}`:               {"threads", "one thread"},
		`{"mode":"Compatible","durability":"File"}`:       {"durability", "nothing durable"},
		`{"mode":"Compatible","transactions":9}`:          {"transactions", "divides by zero"},
		`{"mode":"Compatible","transactions":2147483647}`: {"transactions", "32 bits"},
		`{"mode":"Compatible","maxSize":"1Gi"}`:           {"maxSize", "32 bits"},
		`{"mode":"Compatible","seed":0}`:                  {"seed", "from 1"},
	} {
		f, ok := errors.AsType[*trial.Failure]((Engine{}).Check(json.RawMessage(config), trial.Filesystem))
		if !ok || f.Class != reason.InvalidSpec || f.Field != "postmark."+want.field || !strings.Contains(f.Message, want.message) || f.Remedy == "" {
			t.Errorf("%s: got %+v", config, f)
		}
	}
	f, ok := errors.AsType[*trial.Failure]((Engine{}).Check(json.RawMessage(`{}`), trial.Block))
	if !ok || f.Field != "postmark" || !strings.Contains(f.Message, "postmark needs a file system") || f.Remedy == "" {
		t.Errorf("a block device: %+v", f)
	}
}

func TestThreadsShareEverything(t *testing.T) {
	for _, c := range []config{{Threads: 1, Files: 5, Transactions: 1}, {Threads: 3, Files: 20, Transactions: 2}, {Threads: 256, Files: 1000, Transactions: 99999}} {
		var sum share
		for _, s := range c.shares() {
			if s.files < 1 {
				t.Errorf("%+v: a thread without files", c)
			}
			sum.files += s.files
			sum.transactions += s.transactions
		}
		if sum.files != c.Files || sum.transactions != c.Transactions {
			t.Errorf("%+v: all shares are %+v", c, sum)
		}
	}
}

// most plays a trial of mode Modern on paper and returns how many files there were at
// once, and how many blocks they took.
func most(c config) (files int, blocks uint64) {
	s := newScript(c.rules(c.Files), newRandom(uint32(c.Seed)))
	count := func() {
		files = max(files, s.table.used)
		n := uint64(0)
		for _, f := range s.table.files[:s.table.used] {
			n += (uint64(f.size) + block - 1) / block
		}
		blocks = max(blocks, n)
	}
	for range c.Files {
		s.create()
	}
	for range c.Transactions {
		s.half(0)
		s.half(1)
		count()
	}
	return files, blocks
}

func TestAnEstimateIsEnough(t *testing.T) {
	for _, text := range []string{
		`{"files":200,"transactions":2000}`, `{"files":200,"transactions":100,"createBias":10}`,
		`{"files":1,"transactions":50}`, `{"files":300,"transactions":1000,"createBias":6,"readBias":0}`,
		`{"files":300,"transactions":1000,"createBias":-1,"readBias":0}`, `{"files":300,"transactions":1000,"createBias":2}`,
	} {
		for seed := range int64(5) {
			c, err := decode(json.RawMessage(text))
			if err != nil {
				t.Fatal(err)
			}
			c.Seed = seed
			files, blocks := most(c)
			e, err := Engine{}.Estimate(json.RawMessage(text))
			if err != nil || e.Duration != 0 {
				t.Errorf("%+v, %v", e, err)
			}
			if uint64(files) > c.mostFiles() || blocks*block > e.Bytes || c.mostFiles() > 2*uint64(c.Files) {
				t.Errorf("%s: %d files in %d blocks, estimated at %d and %d", text, files, blocks, c.mostFiles(), e.Bytes/block)
			}
		}
	}
}

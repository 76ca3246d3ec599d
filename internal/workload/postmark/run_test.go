package postmark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/native"
)

// small is a trial that is quick on any disk.
func small(fields map[string]any) map[string]any {
	all := map[string]any{"files": 60, "transactions": 200, "maxSize": 3000}
	maps.Copy(all, fields)
	return all
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("%s holds %v, %v", dir, entries, err)
	}
}

// checkSums checks what must be so whatever the decisions are.
func checkSums(t *testing.T, m *result.Measurement, transactions float64) {
	t.Helper()
	value := func(name string) float64 { return m.Metrics[name].Value }
	for _, op := range m.Operations {
		if a, sum := value(op+".attempted"), value(op+".count")+value(op+".noop")+value(op+".errors"); a != sum {
			t.Errorf("%s: %v were attempted, and %v are accounted for", op, a, sum)
		}
		if n := value(op + ".count"); n > 0 && (value(op+".rate") <= 0 || value(op+".latency.p99") <= 0 || m.Histograms[op].Count() != uint64(n)) {
			t.Errorf("%s has no rate or no latencies: %v", op, m.Metrics)
		}
	}
	if value("transactions.attempted") != transactions || m.Operations[0] != "transactions" {
		t.Errorf("%v transactions of %v; operations are %v", value("transactions.attempted"), transactions, m.Operations)
	}
	if left := value("create.alone.count") + value("create.count") - value("delete.count") - value("delete.alone.count"); left != 0 {
		t.Errorf("%v files were not deleted", left)
	}
	for _, name := range []string{"phase.create.duration", "phase.transactions.duration", "phase.delete.duration", "drain.duration", "create.alone.rate"} {
		if value(name) <= 0 {
			t.Errorf("%s is %v", name, value(name))
		}
	}
	if m.EngineCPU < 0 || len(m.Parts) != 2 || m.Parts[0].Name != "create" || m.Parts[1].Name != "delete" {
		t.Errorf("%v of CPU time, parts %v", m.EngineCPU, m.Parts)
	}
}

func TestModernTrials(t *testing.T) {
	for name, c := range map[string]struct {
		fields     map[string]any
		operations int
		note       string
	}{
		"the default":                     {map[string]any{}, 5, "memory"},
		"threads":                         {map[string]any{"threads": 3}, 5, "memory"},
		"subdirectories":                  {map[string]any{"threads": 2, "subdirectories": 5}, 5, "memory"},
		"durable files":                   {map[string]any{"durability": "File", "transactions": 20}, 5, ""},
		"durable directories":             {map[string]any{"durability": "FileAndDirectory", "transactions": 20}, 5, ""},
		"durable subdirectories":          {map[string]any{"durability": "FileAndDirectory", "transactions": 20, "subdirectories": 3}, 5, ""},
		"durable at the end":              {map[string]any{"durability": "SyncAtEnd"}, 5, ""},
		"large blocks":                    {map[string]any{"readBlockSize": "64Ki", "writeBlockSize": "1Mi"}, 5, "memory"},
		"blocks of an odd size":           {map[string]any{"readBlockSize": 7, "writeBlockSize": 333}, 5, "memory"},
		"files of one size":               {map[string]any{"minSize": 3000}, 5, "only one of their two halves"},
		"neither read nor append":         {map[string]any{"readBias": -1}, 3, "memory"},
		"neither create nor delete":       {map[string]any{"createBias": -1}, 3, "memory"},
		"nothing but reads":               {map[string]any{"readBias": 10, "createBias": -1}, 2, "memory"},
		"nothing but full files":          {map[string]any{"minSize": 3000, "readBias": 0, "createBias": -1}, 2, "100 % of the transactions did nothing"},
		"one file":                        {map[string]any{"files": 1}, 5, "no file"},
		"one transaction":                 {map[string]any{"transactions": 1}, 5, "memory"},
		"a table that fills up":           {map[string]any{"createBias": 10}, 4, "creates a full table"},
		"a table that runs empty":         {map[string]any{"createBias": 1}, 5, "deletes no file"},
		"fewer transactions than threads": {map[string]any{"transactions": 2, "threads": 4}, 5, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), small(c.fields))
			m := measureOnce(t, env)
			transactions := 200.0
			if n, ok := c.fields["transactions"].(int); ok {
				transactions = float64(n)
			}
			checkSums(t, m, transactions)
			checkEmpty(t, env.Dir)
			if len(m.Operations) != c.operations {
				t.Errorf("the operations are %v", m.Operations)
			}
			if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "memory") {
				t.Errorf("the notes are %q", notes)
			}
			if _, ok := m.Metrics["sync.duration"]; ok != (c.fields["durability"] == "SyncAtEnd") {
				t.Error("sync.duration is there or not")
			}
		})
	}
}

func TestRepeatsOfAModernTrialDiffer(t *testing.T) {
	env := newEnv(t, t.TempDir(), small(nil))
	first := measureOnce(t, env)
	again := measureOnce(t, env)
	env.Trial.Repeat++
	second := measureOnce(t, env)
	if first.Metrics["read.bytes"] != again.Metrics["read.bytes"] {
		t.Error("the same repeat does something else")
	}
	if first.Metrics["read.bytes"] == second.Metrics["read.bytes"] {
		t.Error("another repeat does the same")
	}
}

func TestACompatibleTrialReportsWhatTheOriginalDoes(t *testing.T) {
	for _, buffered := range []bool{true, false} {
		env := newEnv(t, t.TempDir(), map[string]any{"mode": "Compatible", "files": 500, "transactions": 500, "buffered": buffered})
		m := measureOnce(t, env)
		checkEmpty(t, env.Dir)
		checkSums(t, m, 500)
		report := string(m.RawOutput)
		for _, want := range []string{
			"\t764 created (", "\t\tCreation alone: 500 files (", "\t\tMixed with transactions: 264 files (", "\t243 read (", "\t257 appended (",
			"\t764 deleted (", "\t\tDeletion alone: 528 files (", "\t\tMixed with transactions: 236 files (", "\t1.36 megabytes read (", "\t4.45 megabytes written (",
		} {
			if !strings.Contains(report, want) {
				t.Errorf("%q is not in\n%s", want, report)
			}
		}
		for name, want := range map[string]float64{"original.create.count": 764, "create.count": 264, "create.alone.count": 500, "read.count": 243, "append.count": 257, "original.delete.count": 764, "delete.alone.count": 528} {
			if got := m.Metrics[name].Value; got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	}
}

func TestACompatibleTrialThatRunsOutOfFilesSaysSo(t *testing.T) {
	env := newEnv(t, t.TempDir(), map[string]any{"mode": "Compatible", "files": 5, "transactions": 1000, "createBias": 1})
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.WorkloadFailed || f.Field != "spec.workloads[mail].postmark.files" || !strings.Contains(f.Message, "no file was left after") || f.Remedy == "" {
		t.Errorf("got %+v", err)
	}
	if m == nil || len(m.RawOutput) != 0 || m.Metrics["transactions.count"].Value < 5 || m.Metrics["transactions.count"].Value > 100 {
		t.Errorf("what was measured is not kept: %+v", m)
	}
	checkEmpty(t, env.Dir)
}

func TestFilesHoldWhatWasDecidedAndNothingThatCanBeCompressed(t *testing.T) {
	env := newEnv(t, t.TempDir(), map[string]any{"files": 40, "transactions": 100, "minSize": 1, "maxSize": 300000, "threads": 2, "subdirectories": 2, "writeBlockSize": 1000})
	c, err := decode(env.Workload.Config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(t.Context(), c, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []func(*worker, *native.Thread) error{(*worker).create, (*worker).transact} {
		if _, err := r.phase(t.Context(), phase); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int64{}
	for i, w := range r.workers {
		for slot, f := range w.script.table.files[:w.script.table.used] {
			want[fmt.Sprintf("t%d/s%d/%d", i, w.script.table.directories[slot], f.number)] = int64(f.size)
		}
	}
	stored, compressed := 0, 0
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.dir, path)
		if size, ok := want[name]; !ok || size != int64(len(content)) {
			t.Errorf("%s has %d bytes, want %d", name, len(content), size)
		}
		delete(want, name)
		for record := range slices.Chunk(content, 128<<10) { // as file systems compress them
			stored += len(record)
			compressed += len(encoder.EncodeAll(record, nil))
		}
		return err
	})
	if err != nil || len(want) != 0 {
		t.Errorf("%v; these files are not there: %v", err, want)
	}
	if compressed < stored*98/100 {
		t.Errorf("%d bytes were compressed to %d", stored, compressed)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	checkEmpty(t, env.Dir)
}

func TestACancelledTrialEndsAtOnceAndLeavesNothing(t *testing.T) {
	for name, fields := range map[string]map[string]any{
		"while it creates":   {"files": 100000, "transactions": 10},
		"in transactions":    {"files": 50, "transactions": 2000000000, "threads": 2},
		"in a large file":    {"files": 1, "minSize": "1Gi", "maxSize": "1Gi"},
		"in its directories": {"files": 1, "subdirectories": 200000},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), fields)
			ctx, cancel := context.WithCancel(t.Context())
			var cancelled time.Time
			timer := time.AfterFunc(150*time.Millisecond, func() {
				cancelled = time.Now()
				cancel()
			})
			defer timer.Stop()
			_, err := Engine{}.Run(ctx, env)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			if took := time.Since(cancelled); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			checkEmpty(t, env.Dir)
		})
	}
}

func TestWhatAKilledTrialLeftIsRemoved(t *testing.T) {
	env := newEnv(t, t.TempDir(), small(map[string]any{"subdirectories": 3}))
	c, err := decode(env.Workload.Config)
	if err != nil {
		t.Fatal(err)
	}
	leave := func() {
		r, err := newRun(t.Context(), c, env)
		if err == nil {
			_, err = r.phase(t.Context(), (*worker).create)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, env.Dir)
	leave()
	other := filepath.Join(env.Dir, "of-another-workload")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkSums(t, measureOnce(t, env), 200)
	if err := os.Remove(other); err != nil {
		t.Error(err)
	}
	checkEmpty(t, env.Dir)
}

func TestATargetThatIsTooSmallIsRefused(t *testing.T) {
	env := newEnv(t, t.TempDir(), map[string]any{"files": 50000000, "maxSize": "1Gi"})
	f, ok := errors.AsType[*trial.Failure]((Engine{}).Prepare(t.Context(), env))
	if !ok || f.Class != reason.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" || !strings.Contains(f.Message, "PiB") || f.Remedy == "" {
		t.Errorf("got %+v", f)
	}
}

func TestAFileThatBecameShorterIsAnError(t *testing.T) {
	env := newEnv(t, t.TempDir(), small(map[string]any{"files": 1, "readBias": 10, "createBias": -1}))
	c, err := decode(env.Workload.Config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(t.Context(), c, env)
	if err == nil {
		_, err = r.phase(t.Context(), (*worker).create)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(r.dir, "t0", "1"), 10); err != nil {
		t.Fatal(err)
	}
	_, err = r.phase(t.Context(), (*worker).transact)
	f, ok := errors.AsType[*trial.Failure](failure(t.Context(), env, c, err))
	if !ok || !strings.Contains(f.Message, "shorter") || r.total().read.failed != 1 || r.total().transactions.failed != 1 {
		t.Errorf("got %+v, %+v", err, r.total().read.failed)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

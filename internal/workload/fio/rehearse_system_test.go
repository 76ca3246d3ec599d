//go:build system

package fio

import (
	"bufio"
	lists "container/list"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// What fio rehearses is what it does: of jobs of options by chance, a cache as large as the rehearsal says has nine tenths
// of the reads that fio makes of real files, and one of two thirds of that has not.
func TestARehearsalShowsWhatFioDoes(t *testing.T) {
	small := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(3, seed)) //nolint:gosec // it must come again
		text := jobByChance(r)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			env := newEnv(t, t.TempDir(), config{JobFile: text})
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			jobs, _, err := (Engine{}).jobs(env)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := shownBy(env, jobs)
			if err != nil || len(shown.Reuse) != 1 {
				t.Fatalf("%+v, %v", shown, err)
			}
			jobs[0] = jobs[0].clone()
			log := filepath.Join(env.Scratch, "log")
			maps.Copy(jobs[0].options, map[string]string{"write_iolog": log, "ioengine": "psync", "runtime": "400ms", "time_based": "1"})
			if _, err := execute(t.Context(), "fio", env, directory(env), render(jobs, always()), 1); err != nil {
				t.Fatal(err)
			}
			got := shown.Reuse[0]["read"]
			t.Logf("%.0f KiB: %s", got/1024, strings.ReplaceAll(text, "\n", " "))
			if got == 0 || got > 8<<20 {
				got = 8 << 20
				if share := served(t, log, got); share > 0.93 {
					t.Errorf("8 MiB serve %.3f of the reads, and the rehearsal does not show it", share)
				}
				return
			}
			small++
			if share := served(t, log, got*1.05); share < 0.87 {
				t.Errorf("a cache of %.0f KiB serves only %.3f of the reads", got/1024, share)
			}
			if share := served(t, log, got*2/3); got > 4096 && share > 0.93 {
				t.Errorf("a cache of %.0f KiB serves %.3f of the reads: it need not be larger", got*2/3/1024, share)
			}
		})
	}
	if small < 10 {
		t.Errorf("only %d of the jobs use little", small)
	}
}

// jobByChance reads a file of 32 MiB, or several, in blocks of 4 KiB.
func jobByChance(r *rand.Rand) string {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	lines := []string{"[a]", "runtime=1", "time_based", "direct=0"}
	pattern := one("read", "read:60k", "read:1020k", "read:-4k", "read:-8k", "randread", "randread", "randread", "randread:8", "randread:200")
	lines = append(lines, "rw="+pattern, one("size=32m", "size=32m", "size=1m\noffset=31m", "filesize=32m\noffset=30m", "filesize=32m", "size=32m\nnrfiles=32", "size=32m\nnrfiles=32"))
	random := strings.HasPrefix(pattern, "rand")
	if strings.Contains(lines[len(lines)-1], "nrfiles") {
		lines = append(lines, "file_service_type="+one("random", "sequential", "roundrobin", "zipf:2.5", "zipf:1.2", "pareto:0.1", "normal:1", "roundrobin:100"))
	}
	if random && r.IntN(2) == 0 {
		lines = append(lines, "random_distribution="+one("zipf:2.5", "zipf:1.2", "zipf:0.6", "pareto:0.05", "zoned:95/2:5/98", "zoned:60/10:30/20:10/70", "normal:5"))
	}
	switch r.IntN(6) {
	case 0:
		lines = append(lines, "zonemode=strided", one("zonesize=1m\nzonerange=1m\nzoneskip=15m", "zonesize=64k\nzonerange=1m", "zonesize=1m\nzoneskip=7m"))
	case 1:
		if random {
			lines = append(lines, one("blockalign=1m", "blockalign=64k"))
		}
	case 2:
		if random {
			lines = append(lines, "percentage_random="+one("10", "50", "90"))
		}
	case 3:
		if strings.HasPrefix(pattern, "randread:") {
			lines = append(lines, "rw_sequencer=identical")
		}
	case 4:
		lines = append(lines, "norandommap")
	}
	return strings.Join(lines, "\n") + "\n"
}

// served is which share of the later half of a log's reads a cache of so many bytes has, which drops what was used longest ago.
func served(t *testing.T, log string, bytes float64) float64 {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var reads []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if n := len(fields); n >= 4 && fields[n-3] == "read" {
			offset, err := strconv.Atoi(fields[n-2])
			if err != nil {
				t.Fatal(err)
			}
			reads = append(reads, fmt.Sprint(fields[n-4], offset/4096))
		}
	}
	room := max(1, int(bytes/4096))
	order, held := lists.New(), map[string]*lists.Element{}
	hits := 0
	for i, read := range reads {
		at, hit := held[read]
		if hit {
			order.MoveToFront(at)
		} else {
			held[read] = order.PushFront(read)
		}
		if order.Len() > room {
			oldest := order.Back()
			delete(held, order.Remove(oldest).(string))
		}
		if hit && i >= len(reads)/2 {
			hits++
		}
	}
	return float64(hits) / float64(max(1, len(reads)-len(reads)/2))
}

// A trial does not use the blocks of another one in the same order, and the same trial does when it is repeated.
func TestEachSeedHasASequenceOfItsOwn(t *testing.T) {
	jobs, err := resolve(config{JobFile: "[a]\nrw=randread\nsize=64m\nruntime=1\n[b]\nrw=randrw\nsize=64m\nruntime=1\n"}, trial.Filesystem, "")
	if err != nil {
		t.Fatal(err)
	}
	sequences := func(seed string) (out []string) {
		env := newEnv(t, t.TempDir(), config{})
		seeded := withSeed(jobs, seed)
		for i := range seeded {
			maps.Copy(seeded[i].options, map[string]string{"write_iolog": filepath.Join(env.Scratch, strconv.Itoa(i)), "ioengine": "null", "runtime": "10ms"})
		}
		if inv, err := execute(t.Context(), "fio", env, env.Scratch, render(seeded, always()), clones(seeded)); err != nil || inv.err != nil {
			t.Fatal(err, inv.err, inv.stderr)
		}
		for i := range seeded {
			log, err := os.ReadFile(filepath.Join(env.Scratch, strconv.Itoa(i)))
			if err != nil {
				t.Fatal(err)
			}
			var offsets []string
			for line := range strings.Lines(string(log)) {
				if fields := strings.Fields(line); len(fields) >= 4 && len(offsets) < 100 {
					offsets = append(offsets, fields[len(fields)-2])
				}
			}
			out = append(out, strings.Join(offsets, " "))
		}
		return out
	}
	first := append(sequences("1000"), sequences("2000000000")...)
	for i, one := range first {
		if strings.Count(one, " ") < 50 || slices.Contains(first[i+1:], one) {
			t.Errorf("job %d uses %.200s…, and another one the same", i, one)
		}
	}
	if again := sequences("1000"); !slices.Equal(again, first[:2]) {
		t.Errorf("a trial that is repeated uses %.200s…, and not %.200s…", again, first[:2])
	}
}

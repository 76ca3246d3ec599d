//go:build powercut

package powercut

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/powercut"
	"storagebench.io/storagebench/test/ledger"
	"storagebench.io/storagebench/test/powercut/nbd"
)

// The ledger's file, and how many cuts each kind of disk gets.
const (
	ledgerVariable = "STORAGEBENCH_POWERCUT"
	cutsVariable   = "STORAGEBENCH_POWERCUT_CUTS"
)

// imageBytes has room for the records of a run, and for an ext4 with a journal.
const (
	imageBytes = 64 << 20
	records    = 4096
)

// kinds of disks. The caches hold as much as that of a small disk: what no longer fits is written,
// flush or not, so that a liar does not lose everything.
var kinds = []struct {
	name      string
	behaviour nbd.Behaviour
	want      powercut.Verdict
	share     int // of the cuts, one in so many
}{
	{"honest", nbd.Behaviour{CacheSectors: 1024}, powercut.NoLoss, 1},
	{"liar", nbd.Behaviour{CacheSectors: 1024, IgnoreFlush: true}, powercut.Lies, 1},
	{"write-through", nbd.Behaviour{}, powercut.NoLoss, 5},
}

func TestPowerCut(t *testing.T) {
	cuts, err := strconv.Atoi(os.Getenv(cutsVariable))
	if err != nil {
		t.Fatal(cutsVariable, "must say how many cuts each disk gets:", err)
	}
	formatted := ext4(t)
	for _, kind := range kinds {
		for n := range max(1, cuts/kind.share) {
			// Half of each on the disk itself, half in a file.
			on := []string{"raw", "ext4"}[n%2]
			t.Run(fmt.Sprintf("%s/%s/%d", kind.name, on, n), func(t *testing.T) {
				t.Parallel()
				c := cutter{t: t, behaviour: kind.behaviour, on: on, seed: uint64(n), random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n)))}
				// Half of each lose all that is in the cache, half an arbitrary part.
				c.kept = float64(n/2%2*(1+c.random.IntN(9))) / 10
				outcome := c.run(formatted)
				ledger.Note(t, ledgerVariable, kind.name, fmt.Sprintf("%s synced=%d lost=%d unsyncedLost=%d sectorsLost=%d", outcome.Verdict, outcome.Synced, outcome.Lost, outcome.UnsyncedLost, c.sectorsLost))
				t.Logf("%s; %d sectors were in the cache and are lost", outcome.Sentence(), c.sectorsLost)
				if outcome.Verdict != kind.want {
					t.Errorf("the verdict is %s, expected %s", outcome.Verdict, kind.want)
				}
			})
		}
	}
}

// ext4 makes an empty file system.
func ext4(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, imageBytes); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", path).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// cutter does one cut.
type cutter struct {
	t         *testing.T
	behaviour nbd.Behaviour
	on        string
	seed      uint64
	// kept is the probability with which a sector in the cache survives.
	kept   float64
	random *rand.Rand
	// sectorsLost is what the cut dropped.
	sectorsLost int
}

// attempts at starting a machine.
const attempts = 3

func (c *cutter) run(formatted []byte) powercut.Outcome {
	c.t.Helper()
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(c.random.Uint32())
	}
	run := powercut.Run{ID: hex.EncodeToString(id), Block: 4096, Records: records, Device: c.on == "raw"}
	for range attempts {
		image := make([]byte, imageBytes)
		if c.on == "ext4" {
			copy(image, formatted)
		}
		disk := nbd.NewDisk(image, c.behaviour, c.seed)
		log, err := c.record(disk, run)
		if errors.Is(err, errSilent) {
			c.t.Log("the machine did not start; trying again:", err)
			continue
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if log.Run != run {
			c.t.Fatalf("the machine says that it writes %+v, expected %+v", log.Run, run)
		}
		if flushes := disk.Counters().Flushes; c.behaviour.CacheSectors > 0 && flushes < log.Synced {
			c.t.Fatalf("%d records were synced, and only %d flushes came to the disk", log.Synced, flushes)
		}
		return powercut.Judge(log, c.scan(disk, run))
	}
	c.t.Fatal("the machine does not start")
	return powercut.Outcome{}
}

// record lets the machine write until a random moment, and cuts its power.
func (c *cutter) record(disk *nbd.Disk, run powercut.Run) (powercut.Log, error) {
	c.t.Helper()
	m := start(c.t, disk, "record", c.on, run)
	defer m.kill()
	// Several records fit in the cache, so that a liar has something to lose.
	lines := 2 * (20 + c.random.IntN(200))
	// How long a record takes depends on the machine: half of the cuts come at any time within
	// it, and half between any two requests to the disk, also before a flush.
	delay, requests := time.Duration(c.random.IntN(4000))*time.Microsecond, c.random.IntN(8)
	timed := c.random.IntN(2) == 0
	cut := make(chan struct{})
	// The disk is first. What it has answered before is acknowledged, and it answers nothing
	// after that; a request of a QEMU that was killed first might reach it late.
	done := func(lost int) {
		c.sectorsLost = lost
		_ = m.qemu.Process.Kill() // it may have ended
		close(cut)
	}
	log, err := m.witness(c.t.Context(), func([]byte) {
		if lines--; lines != 0 {
			return
		}
		if timed {
			time.AfterFunc(delay, func() { done(disk.Cut(c.kept)) })
		} else {
			disk.CutAfter(requests, c.kept, done)
		}
	})
	if lines > 0 {
		return log, fmt.Errorf("the machine ended before the power was cut: %w; the console's end:\n%s", err, m.console())
	}
	// Whatever it says after the cut, that its writes fail for instance, is of no interest.
	select {
	case <-cut:
		return log, nil
	case <-time.After(silence):
		return log, fmt.Errorf("the machine has not written since; the console's end:\n%s", m.console())
	}
}

// scan finds the records that are on the disk.
func (c *cutter) scan(disk *nbd.Disk, run powercut.Run) powercut.Found {
	c.t.Helper()
	if c.on == "raw" {
		found, err := powercut.Scan(bytes.NewReader(disk.Medium()), run, run.Records, powercut.Damaged)
		if err != nil {
			c.t.Fatal(err)
		}
		return found
	}
	for range attempts {
		disk.On()
		line, err := c.ask(disk, run)
		if errors.Is(err, errSilent) {
			c.t.Log("the machine did not start again; trying again:", err)
			// With what it has written meanwhile.
			disk.Cut(1)
			continue
		}
		list, ok := strings.CutPrefix(line, "found ")
		if err != nil || !ok {
			c.t.Fatalf("the machine says %q (%v)", line, err)
		}
		found, err := powercut.ParseFound(list, run)
		if err != nil {
			c.t.Fatal(err)
		}
		return found
	}
	c.t.Fatal("the machine does not start again")
	return powercut.Found{}
}

// ask starts the machine, which looks for the records, and returns its first line.
func (c *cutter) ask(disk *nbd.Disk, run powercut.Run) (string, error) {
	c.t.Helper()
	m := start(c.t, disk, "scan", c.on, run)
	defer m.kill()
	ctx, cancel := context.WithTimeout(c.t.Context(), silence)
	defer cancel()
	defer context.AfterFunc(ctx, func() { m.said.Close() })()
	said, err := m.said.Accept()
	if err != nil {
		return "", errors.Join(errSilent, err)
	}
	defer said.Close()
	defer context.AfterFunc(ctx, func() { said.Close() })()
	line, err := bufio.NewReaderSize(said, 1<<16).ReadString('\n')
	if err != nil && line == "" {
		return "", fmt.Errorf("%w: %w; the console's end:\n%s", errSilent, err, m.console())
	}
	return strings.TrimSuffix(line, "\n"), err
}

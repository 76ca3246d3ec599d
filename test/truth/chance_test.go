//go:build truth

package truth

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/test/ledger"
)

// chance is a world put together by chance, and what follows from its parts.
type chance struct {
	parts []string
	// jobs are what follows for each row, by the name of its job; "" if there is one. None of them has a verdict that is only the other's.
	jobs map[string]*truth
}

// truth is what is true of a row.
type truth struct {
	// must are verdicts that have to be said, each of an operation or of any ("").
	must map[string]string
	// may are further ones that are true of this world, or can be.
	may []string
	// anything: nothing that is said besides is wrong, as all of the number is worthless.
	anything bool
}

// lie adds a verdict that must be said.
func (c *truth) lie(verdict, operation string) { c.must[verdict] = operation }

func (c *chance) String() string { return strings.Join(c.parts, ", ") }

// TestChance judges worlds by chance: STORAGEBENCH_TRUTH_WORLDS of them (20), of STORAGEBENCH_TRUTH_SEED (1).
func TestChance(t *testing.T) {
	worlds, seed := number(t, "STORAGEBENCH_TRUTH_WORLDS", 20), number(t, "STORAGEBENCH_TRUTH_SEED", 1)
	for i := range worlds {
		t.Run(fmt.Sprintf("%d-%d", seed, i), func(t *testing.T) {
			judgeChance(t, rand.New(rand.NewPCG(uint64(seed), uint64(i)))) //nolint:gosec // it must come again
		})
	}
}

// number is that of a variable.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s is no number", variable, text)
	}
	return n
}

// judgeChance measures one world. What the machine's other users do is told as NotSteady and the like, and
// rightly: so what is wrong is measured up to twice more, and counts if two of the three say it.
func judgeChance(t *testing.T, r *rand.Rand) {
	t.Helper()
	c, w := compose(t, r)
	t.Log(c)
	wrong := map[string]int{}
	var rows map[string]result.Row
	for range 3 {
		rows, _ = w.rows(t)
		var faults []string
		for name, truth := range c.jobs {
			for _, fault := range truth.faults(rows[name]) {
				faults = append(faults, strings.TrimSpace(fault+" "+name))
			}
		}
		for _, fault := range faults {
			wrong[fault]++
		}
		if len(faults) == 0 && len(wrong) == 0 {
			break
		}
	}
	maps.DeleteFunc(wrong, func(_ string, times int) bool { return times < 2 })
	c.count(t, wrong)
	if len(wrong) > 0 {
		text := ""
		for name := range c.jobs {
			text += name + ": " + said(rows[name]) + "\n"
		}
		t.Errorf("%s\n%v\nwhat was said: %s", c, slices.Sorted(maps.Keys(wrong)), text)
	}
}

// faults are what is missed in a row, and what is wrong.
func (c *truth) faults(row result.Row) []string {
	var out []string
	for verdict, operation := range c.must {
		if !slices.ContainsFunc(row.Verdicts, func(v result.RowVerdict) bool {
			return v.Name == verdict && (operation == "" || v.About(operation))
		}) {
			out = append(out, "missed "+verdict)
		}
	}
	for _, v := range row.Verdicts {
		_, lie := c.must[v.Name]
		if fault := "accused of " + v.Name; !lie && !c.anything && !slices.Contains(c.may, v.Name) && !slices.Contains(out, fault) {
			out = append(out, fault)
		}
	}
	return out
}

// count writes down which lies were found, and whether the world was accused of more.
func (c *chance) count(t *testing.T, wrong map[string]int) {
	t.Helper()
	accused := ""
	for fault := range wrong {
		if name, ok := strings.CutPrefix(fault, "accused of "); ok {
			accused = name
		}
	}
	for name, truth := range c.jobs {
		for verdict := range truth.must {
			outcome := "found"
			if wrong[strings.TrimSpace("missed "+verdict+" "+name)] > 0 {
				outcome = "missed"
			}
			ledger.Note(t, Variable, outcome, verdict)
		}
	}
	if accused != "" {
		ledger.Note(t, Variable, "accused", "a world by chance: "+accused)
		return
	}
	ledger.Note(t, Variable, "honest", "a world by chance")
}

// compose makes a world.
func compose(t *testing.T, r *rand.Rand) (*chance, world) {
	t.Helper()
	c := &chance{jobs: map[string]*truth{}}
	s := chooseStorage(r)
	j := chooseJob(r, s)
	d := chooseDisturbance(r, s, j)
	c.parts = []string{s.String(), j.String()}
	w := world{workload: j.workload()}
	if other := chooseOther(r, s, j); other != nil {
		c.parts = append(c.parts, other.String())
		w.workload, w.jobs = withOther(j, other), []string{"j", "other"}
		c.jobs["j"], c.jobs["other"] = follows(s, j, d, other), follows(s, other, d, j)
	} else {
		c.jobs[""] = follows(s, j, d, nil)
	}
	if d.what != "" {
		c.parts = append(c.parts, d.what)
	}
	if r.IntN(3) == 0 {
		c.parts = append(c.parts, "without privileges")
		w.prefix = unprivileged
	}
	var device string
	w.target, device = s.make(t)
	d.apply(t, &w, device)
	return c, w
}

// unprivileged runs a program as a container without privileges has it: with the capabilities that these have by default, and without
// writing to /proc/sys and /sys.
var unprivileged = []string{
	"unshare", "--mount", "sh", "-c",
	`mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && mount -o remount,bind,ro /sys && exec setpriv \
	--bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+sys_chroot,+mknod,+audit_write,+setfcap "$@"`, "sh",
}

// pick is one of several, by chance.
func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// follows says what is true of the row of a job in a world of these parts. Other is another job; nil: there is none.
func follows(s *storage, j *job, d *disturbance, other *job) *truth {
	c := &truth{must: map[string]string{}}
	c.follow(s, j, d, other)
	if other != nil {
		c.may = append(c.may, "CPUBound", "QueueHidesLatency")
		if j.ramps() || other.ramps() { // while the other is measured
			c.may = append(c.may, "NoDeviceEvidence", "WorkingSetTooSmall")
			delete(c.must, "FromMemory")
			delete(c.must, "CachedBelow")
			delete(c.must, "NotSteady")
		}
	}
	return c
}

func (c *truth) follow(s *storage, j *job, d *disturbance, other *job) {
	switch {
	case s.over == "bindfs": // what the program does with the files cannot be seen
		c.lie("NoDeviceEvidence", "")
		c.anything = s.memory()
		c.may = append(c.may, "WorkingSetTooSmall", "NotSteady", "CPUBound", "DataReduced", "DepthIgnored")
		if j.writes() { // the program writes through the page cache, and how long the rest takes can be seen
			c.may = append(c.may, "FromMemory")
		}
		return
	case s.memory():
		c.lie("MemoryBacked", "")
		c.anything = true
		return
	}
	writes, reads := j.writes(), j.reads()
	through := !j.direct // the page cache
	if s.unsafe() && writes {
		c.lie("UnsafeConfiguration", "")
	}
	if through {
		c.may = append(c.may, "NotSteady", "CPUBound")
	}
	if through && reads {
		c.may = append(c.may, "FromMemory")
		if j.again && d.what == "" && !s.compresses() { // of which it is said as DataReduced
			c.lie("FromMemory", "read")
		}
	}
	if through && writes {
		c.may = append(c.may, "FromMemory")
		// When fio has gone through its file once, or has to map another part, it waits until the disk has it.
		once := j.engine == "mmap" || j.engine != "" && !j.again
		if j.sync == "" && d.what == "" && !s.compresses() && !j.mixed() && !once && (other == nil || !other.writes()) { // its syncs may write this, too
			c.lie("FromMemory", j.writing())
		}
	}
	if s.compresses() {
		c.may = append(c.may, "DataReduced", "FromMemory")
	}
	if j.zeros {
		c.lie("DataReduced", "")
	}
	if s.journalsData() && !through && !s.compresses() && j.engine != "" {
		c.may = append(c.may, "FromMemory", "NotSteady", "CPUBound", "CachedBelow")
		c.lie("DirectIOFallback", "")
	}
	if s.journalsData() {
		c.may = append(c.may, "DirectIOFallback")
	}
	if s.device == "a loop device through the page cache" {
		// Where a neighbour hides how much the page cache answered, what is left to say is that direct I/O went through it.
		c.may = append(c.may, "CachedBelow", "DirectIOFallback", "NotSteady", "CPUBound", "QueueHidesLatency", "ImpossibleUncached")
		if !through && reads && !j.mixed() && d.what == "" && !s.journalsData() && !s.compresses() {
			c.lie("CachedBelow", "read")
		}
	}
	if j.ignoresDepth() {
		c.lie("DepthIgnored", "")
	}
	if s.copies() && writes {
		c.may = append(c.may, "DepthIgnored", "CPUBound", "NotSteady", "QueueHidesLatency", "DirectIOFallback", "FromMemory")
	}
	d.follow(c, s, j)
}

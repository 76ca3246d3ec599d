//go:build truth

package truth

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// most of a machine's CPUs that its host may give to others while a world is measured: half of what CPUBound says it of,
// as the world is built and removed in that time, too.
const mostTaken = 0.05

// cpus counts what a machine's CPUs did since its start, in ticks of all of them: in all, and for other machines of its host.
type cpus struct{ all, taken uint64 }

// countCPUs reads them by itself: what storagebench says of them is what is tried here.
func countCPUs(t *testing.T) cpus {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCPUs(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parseCPUs reads the first line of /proc/stat (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal; what
// follows, of guests, is in user and nice already.
func parseCPUs(text string) (cpus, error) {
	var c cpus
	line, _, _ := strings.Cut(text, "\n")
	for i, field := range strings.Fields(line)[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return c, err
		}
		if c.all += n; i == 7 {
			c.taken = n
		}
	}
	return c, nil
}

// share returns how much of the CPUs' time the host has given to others since before.
func (c cpus) share(before cpus) float64 {
	return float64(c.taken-before.taken) / float64(max(1, c.all-before.all))
}

// ofTheHost reports whether a verdict says that the host gave the CPUs to others, of a machine whose host did.
func ofTheHost(v result.Verdict, taken float64) bool {
	_, stolen := v.Evidence["stolen"]
	return v.Name == "CPUBound" && stolen && taken >= mostTaken
}

func TestOnlyWhatTheHostTookIsOfTheHost(t *testing.T) {
	stolen := result.Verdict{Name: "CPUBound", Evidence: result.Metrics{"stolen": {}}}
	waits := result.Verdict{Name: "CPUBound", Evidence: result.Metrics{"engine.cpu.wait.mean": {}}}
	neighbour := result.Verdict{Name: "NoisyNeighbour", Evidence: result.Metrics{"stolen": {}}}
	for _, tt := range []struct {
		verdict result.Verdict
		taken   float64
		want    bool
	}{{stolen, 0.2, true}, {stolen, 0.05, true}, {stolen, 0.04, false}, {stolen, 0, false}, {waits, 0.2, false}, {neighbour, 0.2, false}} {
		if got := ofTheHost(tt.verdict, tt.taken); got != tt.want {
			t.Errorf("%s %v, where the host took %g: %t", tt.verdict.Name, tt.verdict.Evidence, tt.taken, got)
		}
	}
	before, err := parseCPUs("cpu  100 0 50 800 40 0 10 0 0 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseCPUs("cpu  140 0 60 820 40 0 10 30 5 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := after.share(before); got != 0.3 {
		t.Errorf("the host took 30 of 100 ticks, not %g", got)
	}
}

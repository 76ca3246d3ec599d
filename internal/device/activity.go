package device

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// maxProcesses bounds how many processes are looked at for the kernel's threads.
const maxProcesses = 1 << 16

// Activities returns what the kernel does on the layers of a target besides what programs ask for:
// a resync of md, a balance or scrub of btrfs, a scrub of ZFS. What cannot be seen from here is not
// there: the threads that initialise an ext4 show only where the host's processes do, and a scrub of
// btrfs only to those that have CAP_SYS_ADMIN.
func (s System) Activities(layers []result.Layer) []result.Activity {
	var out []result.Activity
	initializes := -1
	for _, l := range layers {
		switch {
		case l.Kind == result.MappedLayer && l.Number != "":
			dir, err := s.sysfs(l.Number)
			if err != nil {
				continue
			}
			if action := attribute(dir, "md/sync_action"); action != "" && action != "idle" && action != "frozen" {
				out = append(out, result.Activity{On: l.ID, What: action, Done: share(attribute(dir, "md/sync_completed"))})
			}
		case l.Type == "btrfs":
			for _, what := range s.btrfsActivities(l) {
				out = append(out, result.Activity{On: l.ID, What: what})
			}
		case l.Kind == result.PoolLayer && s.Pool != nil:
			name := strings.TrimPrefix(l.ID, "pool:")
			if status, err := s.Pool(name); err == nil {
				if m := poolScan.FindStringSubmatch(status); m != nil {
					out = append(out, result.Activity{On: l.ID, What: m[1]})
				}
			}
		case l.Type == "ext4":
			if initializes < 0 {
				initializes = s.threads("ext4lazyinit")
			}
			if initializes > 0 && len(out) < result.MaxActivities {
				// It is one thread for all of them, and also reads bitmaps ahead.
				out = append(out, result.Activity{On: l.ID, What: result.LazyInit, Maybe: true})
			}
		}
	}
	return out[:min(len(out), result.MaxActivities)]
}

// btrfsActivities returns what a btrfs does.
func (s System) btrfsActivities(l result.Layer) []string {
	dir := s.btrfsDir(l.Source)
	if dir == "" {
		return nil
	}
	var out []string
	what := attribute(dir, "exclusive_operation")
	if what != "" && what != "none" {
		out = append(out, what)
	}
	// To the kernel the replacement of a device is a scrub, too.
	if what != "device replace" && scrubbed(s.path(strings.TrimPrefix(l.ID, "fs:")), filepath.Base(dir)) {
		out = append(out, "scrub")
	}
	return out
}

// poolScan is what zpool status says of a scan that runs.
var poolScan = regexp.MustCompile(`(?m)^\s*scan: (scrub|resilver)(?: \([a-z]+\))? in progress`)

// share reads "done / all" sectors of md.
func share(text string) float64 {
	done, all, _ := strings.Cut(text, " / ")
	n, err1 := strconv.ParseUint(done, 10, 53)
	m, err2 := strconv.ParseUint(all, 10, 53)
	if err1 != nil || err2 != nil || m == 0 || n > m {
		return 0
	}
	return float64(n) / float64(m)
}

// threads returns how many processes have a name.
func (s System) threads(name string) int {
	entries, err := os.ReadDir(s.path("proc"))
	if err != nil {
		return 0
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == "" || e.Name()[0] < '0' || e.Name()[0] > '9' })
	n := 0
	for _, e := range entries[:min(len(entries), maxProcesses)] {
		if attribute(s.path("proc", e.Name()), "comm") == name {
			n++
		}
	}
	return n
}

package filesync

import (
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// config is the workload as the API has it.
type config struct {
	Files   int64          `json:"files"`
	Size    workload.Bytes `json:"size"`
	Sync    string         `json:"sync"`
	Threads int            `json:"threads"`
	// OfferedRate in files per second; 0: as many as the threads can make.
	OfferedRate int64  `json:"offeredRate"`
	Arrivals    string `json:"arrivals"`
}

// Bounds, which are those of the API where it has them.
const (
	maxFiles   = 1_000_000_000
	maxSize    = 64 << 20
	maxThreads = 256
	// maxMemory of the threads' data, all together.
	maxMemory = 256 << 20
)

// way of making a file durable.
type way struct {
	name string
	// flag that the file is opened with.
	flag int
	// call after the write, if any.
	call func(fd int) unix.Errno
}

func decode(raw json.RawMessage) (config, error) {
	c := config{Files: 10000, Size: 255, Sync: "Dsync", Threads: 1}
	if err := workload.Decode("filesync", raw, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

func (c config) check() error {
	refuse := func(field, message, remedy string) error {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "filesync." + field, Message: message, Remedy: remedy}
	}
	switch {
	case c.Files < 1 || c.Files > maxFiles:
		return refuse("files", fmt.Sprintf("%d is not between 1 and %d", c.Files, maxFiles), "omit it for the default, 10000")
	case c.Size < 1 || c.Size > maxSize:
		return refuse("size", fmt.Sprintf("%d bytes is not between 1 and 64Mi", c.Size), "for larger files, and for what a device can transfer, use bandwidth")
	case c.Threads < 1 || c.Threads > maxThreads:
		return refuse("threads", fmt.Sprintf("%d is not between 1 and %d", c.Threads, maxThreads), "omit it for the default, 1")
	case int64(c.Threads) > c.Files:
		return refuse("threads", fmt.Sprintf("%d threads need at least as many files, but files is %d", c.Threads, c.Files), "lower threads or raise files")
	case uint64(c.Size)*uint64(c.Threads) > maxMemory:
		return &trial.Failure{Class: reason.LimitExceeded, Field: "filesync.threads", Message: fmt.Sprintf("%d threads with %s each would hold more than %s of data in memory", c.Threads, workload.Human(uint64(c.Size)), workload.Human(maxMemory)), Remedy: "lower threads or size"}
	}
	switch {
	case c.OfferedRate < 0 || c.OfferedRate > native.MaxRate:
		return refuse("offeredRate", fmt.Sprintf("%d files per second is not between 1 and %d", c.OfferedRate, native.MaxRate), "omit it to create files as fast as the threads can")
	case c.OfferedRate == 0 && c.Arrivals != "":
		return refuse("arrivals", "arrivals has no effect without offeredRate", "set offeredRate, or remove arrivals")
	case c.Arrivals != "" && !slices.Contains(native.ArrivalNames(), c.Arrivals):
		return refuse("arrivals", fmt.Sprintf("there are no arrivals %q", c.Arrivals), suggest.Remedy(c.Arrivals, native.ArrivalNames()))
	}
	if _, ok := c.way(); !ok {
		var names []string
		for _, w := range ways() {
			names = append(names, w.name)
		}
		return refuse("sync", fmt.Sprintf("%q is not a way to sync", c.Sync), suggest.Remedy(c.Sync, names))
	}
	return nil
}

func ways() []way {
	return []way{
		{name: "Dsync", flag: unix.O_DSYNC},
		{name: "Sync", flag: unix.O_SYNC},
		{name: "Fsync", call: native.Fsync},
		{name: "Fdatasync", call: native.Fdatasync},
		{name: "None"},
	}
}

// syncs reports whether a file is on the disk before the next one begins.
func (w way) syncs() bool { return w.flag != 0 || w.call != nil }

func (c config) way() (way, bool) {
	all := ways()
	i := slices.IndexFunc(all, func(w way) bool { return w.name == c.Sync })
	if i < 0 {
		return way{}, false
	}
	return all[i], true
}

// Pace is offeredRate, if the configuration has one.
func (Engine) Pace(raw json.RawMessage) (option string) {
	if c, err := decode(raw); err == nil && c.OfferedRate > 0 {
		return "offeredRate"
	}
	return ""
}

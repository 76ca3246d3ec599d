package environment

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Input is what to describe.
type Input struct {
	System device.System
	// Path of the target.
	Path string
	Mode trial.Mode
	// Tools are the versions of the programs in use, by name.
	Tools map[string]string
}

// Collect describes the machine and the target. It leaves out what it cannot
// read.
func Collect(in Input) *result.Environment {
	e := &result.Environment{Architecture: runtime.GOARCH, Tools: in.Tools}
	e.Hostname, _ = os.Hostname()
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		e.Kernel = unix.ByteSliceToString(uname.Release[:])
	}
	root := in.System.Root
	if root == "" {
		root = "/"
	}
	e.BootID = readTrimmed(filepath.Join(root, "proc/sys/kernel/random/boot_id"))
	e.CPU, e.Memory = node(root)
	limits := readLimits(root)
	e.CPU.LimitCores = limits.cores
	if limits.memory < e.Memory.TotalBytes {
		e.Memory.LimitBytes = limits.memory
	}
	e.Memory.ARCBytes = arc(root)
	e.Target = target(in)
	return e
}

func node(root string) (cpu result.CPU, memory result.Memory) {
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return cpu, memory
	}
	if infos, err := fs.CPUInfo(); err == nil && len(infos) > 0 {
		cpu.Model, cpu.Count = infos[0].ModelName, len(infos)
	}
	if info, err := fs.Meminfo(); err == nil && info.MemTotalBytes != nil {
		memory.TotalBytes = *info.MemTotalBytes
	}
	return cpu, memory
}

// arc returns the most that the cache of ZFS may hold, or 0.
func arc(root string) uint64 {
	for line := range strings.Lines(readTrimmed(filepath.Join(root, "proc/spl/kstat/zfs/arcstats"))) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "c_max" {
			n, _ := strconv.ParseUint(fields[2], 10, 64) // what cannot be read stays 0
			return n
		}
	}
	return 0
}

// Layers returns the layers of storage below the target as they are now, or none if they cannot be
// seen. It looks at the target's path, so it waits for as long as a file server does not answer.
func Layers(in Input) []result.Layer {
	real, err := filepath.EvalSymlinks(in.Path)
	if err != nil {
		return nil
	}
	if in.Mode != trial.Block {
		layers, _ := in.System.Layers(real) // if it fails, the target's note says so
		return result.FitLayers(layers)
	}
	var stat unix.Stat_t
	if unix.Stat(real, &stat) != nil {
		return nil
	}
	layers, _ := in.System.DeviceLayers(int(unix.Major(stat.Rdev)), int(unix.Minor(stat.Rdev)))
	return result.FitLayers(layers)
}

func target(in Input) result.TargetEnvironment {
	t := result.TargetEnvironment{Path: in.Path, Mode: in.Mode, Devices: []result.Device{}}
	real, err := filepath.EvalSymlinks(in.Path)
	if err != nil {
		t.DeviceNote = err.Error()
		return t
	}
	if in.Mode == trial.Block {
		var stat unix.Stat_t
		if err := unix.Stat(real, &stat); err != nil {
			t.DeviceNote = err.Error()
			return t
		}
		major, minor := int(unix.Major(stat.Rdev)), int(unix.Minor(stat.Rdev))
		t.Devices, t.DeviceNote = in.System.UnderNumber(major, minor)
		t.Layers = Layers(in)
		t.SizeBytes, _ = device.Size(real)
		t.FreeBytes = t.SizeBytes
		return t
	}
	if fs, err := in.System.Filesystem(real); err == nil {
		t.FilesystemType, t.MountOptions, t.MountSource = fs.Type, fs.Options, fs.Source
	}
	t.Layers = Layers(in)
	t.SizeBytes, t.FreeBytes, _ = device.Space(real)
	if devices, note := in.System.UnderPath(real); len(devices) > 0 {
		t.Devices, t.DeviceNote = devices, note
	} else {
		t.DeviceNote = note
	}
	return t
}

func readTrimmed(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/hack/bench/volume"
)

// bandwidthEntries compare the bandwidth engine with dd, both in blocks of 1 MiB, and
// both timed until what they wrote is durable. dd writes zeros, which it has the kernel
// make for each block; the engine stamps data, so that no two blocks are equal, which
// takes less, and after fsync it calls syncfs as well.
func bandwidthEntries(flags *flag.FlagSet) []entry {
	mebibytes := flags.Int64("bandwidth-size", 768, "MiB of a run")
	write := func(direct bool, of string, dd ...string) func(context.Context, *lab) (a, b paired.Side, err error) {
		return func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
			dir, err := l.filled(ctx, 4**mebibytes)
			if err != nil {
				return nil, nil, err
			}
			a, err = l.engineRate(ctx, "bandwidth", dir, of, bandwidthConfig("Write", *mebibytes, direct))
			b = func(ctx context.Context) (float64, error) {
				return ddToNewFile(ctx, filepath.Join(dir, "dd"), append([]string{"if=/dev/zero", "bs=1M", count(*mebibytes)}, dd...)...)
			}
			return a, b, err
		}
	}
	read := func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
		dir, err := l.filled(ctx, 4**mebibytes)
		if err != nil {
			return nil, nil, err
		}
		file := filepath.Join(dir, "dd")
		if _, err := dd(ctx, "if=/dev/urandom", "of="+file, "bs=1M", count(*mebibytes), "oflag=direct", "conv=fsync"); err != nil {
			return nil, nil, err
		}
		a, err = l.engineRate(ctx, "bandwidth", dir, "read.bandwidth", bandwidthConfig("Read", *mebibytes, true))
		b = func(ctx context.Context) (float64, error) {
			return dd(ctx, "if="+file, "of=/dev/null", "bs=1M", "iflag=direct")
		}
		return a, b, err
	}
	const durable = "write.durable.bandwidth"
	return []entry{
		comparison{name: "bandwidth-write", a: "bandwidth", b: "dd conv=fsync", unit: "bytes/s", wanted: 0.98, sides: write(false, durable, "conv=fsync")},
		comparison{name: "bandwidth-write-direct", a: "bandwidth", b: "dd oflag=direct conv=fsync", unit: "bytes/s", wanted: 0.98, sides: write(true, durable, "oflag=direct", "conv=fsync")},
		comparison{name: "bandwidth-read-direct", a: "bandwidth", b: "dd iflag=direct", unit: "bytes/s", wanted: 0.98, sides: read},
	}
}

func bandwidthConfig(operation string, mebibytes int64, direct bool) map[string]any {
	return map[string]any{"operations": []string{operation}, "size": mebibytes << 20, "blockSize": "1Mi", "direct": direct}
}

func count(n int64) string { return "count=" + strconv.FormatInt(n, 10) }

// filled returns the root of an ext4 file system of which every block has been written
// once: the memory behind it is there, and the first run is like the others.
func (l *lab) filled(ctx context.Context, mebibytes int64) (string, error) {
	dir, err := l.ext4(ctx, mebibytes<<20)
	if err != nil {
		return "", err
	}
	fill := filepath.Join(dir, "fill")
	if _, err := dd(ctx, "if=/dev/zero", "of="+fill, "bs=1M", count(mebibytes*9/10), "conv=fsync"); err != nil {
		return "", err
	}
	return dir, os.Remove(fill)
}

// ddToNewFile runs dd with a file that is not there, on a file system that has nothing
// left to write, as the engine does.
func ddToNewFile(ctx context.Context, file string, args ...string) (float64, error) {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if _, err := volume.Output(ctx, "sync", "-f", filepath.Dir(file)); err != nil {
		return 0, err
	}
	rate, err := dd(ctx, append(args, "of="+file)...)
	return rate, errors.Join(err, os.Remove(file))
}

var copied = regexp.MustCompile(`(?m)^([0-9]+) bytes .* copied, ([0-9.e+-]+) s,`)

// dd returns the rate that dd reports, in bytes per second.
func dd(ctx context.Context, args ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, "dd", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("dd: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return ddRate(string(out))
}

func ddRate(text string) (float64, error) {
	m := copied.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("dd does not say how fast it was: %s", strings.TrimSpace(text))
	}
	bytes, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(m[2], 64)
	return bytes / seconds, err
}

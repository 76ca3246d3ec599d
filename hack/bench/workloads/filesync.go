package main

import (
	"context"
	"flag"
	"strconv"

	"storagebench.io/storagebench/hack/bench/paired"
)

// filesyncEntries compare the filesync engine, which reads the clock at each step, with
// a loop in C that reads none. On tmpfs nothing hides what the engine costs.
func filesyncEntries(flags *flag.FlagSet) []entry {
	inMemory := flags.Int64("filesync-files-tmpfs", 100000, "files of a run on tmpfs")
	onExt4 := flags.Int64("filesync-files-ext4", 3000, "files of a run on ext4")
	const size = 255

	sides := func(ctx context.Context, l *lab, dir string, files int64) (a, b paired.Side, err error) {
		program, err := l.compile(ctx, "filesync")
		if err != nil {
			return nil, nil, err
		}
		own, err := l.dir(dir)
		if err != nil {
			return nil, nil, err
		}
		a, err = l.engineRate(ctx, "filesync", dir, "filesync.rate", map[string]any{"files": files, "size": strconv.Itoa(size)})
		b = func(ctx context.Context) (float64, error) {
			return rateOf(ctx, program, own, strconv.FormatInt(files, 10), strconv.Itoa(size))
		}
		return a, b, err
	}
	return []entry{
		comparison{
			name: "filesync-tmpfs", a: "filesync", b: "C without a clock", unit: "files/s", wanted: 0.95,
			sides: func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
				return sides(ctx, l, l.memory, *inMemory)
			},
		},
		comparison{
			name: "filesync-ext4", a: "filesync", b: "C without a clock", unit: "files/s", wanted: 0.99,
			sides: func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
				dir, err := l.ext4(ctx, 512<<20)
				if err != nil {
					return nil, nil, err
				}
				return sides(ctx, l, dir, *onExt4)
			},
		},
	}
}

package main

import (
	"context"
	"flag"
	"strconv"
	"strings"

	"storagebench.io/storagebench/hack/bench/paired"
)

// filesyncEntries compare the filesync engine, which reads the clock at each step, with
// a loop in C that reads none. On tmpfs nothing hides what the engine costs.
//
// The original names its file by a full path, and so does the loop. The engine names it
// by what comes after a directory that it holds open, which spares the kernel a part of
// the lookup; what that is worth, filesync-tmpfs-at takes out again. Nobody has asked for
// that, so it only must not become bad: five clock reads and four calls from Go are 3 to
// 4 % of a file on tmpfs.
func filesyncEntries(flags *flag.FlagSet) []entry {
	inMemory := flags.Int64("filesync-files-tmpfs", 20000, "files of a run on tmpfs")
	onExt4 := flags.Int64("filesync-files-ext4", 2000, "files of a run on ext4")
	tmpfs := func(_ context.Context, l *lab) (string, error) { return l.memory, nil }
	ext4 := func(ctx context.Context, l *lab) (string, error) { return l.ext4(ctx, 512<<20) }
	compare := func(name string, wanted float64, place func(context.Context, *lab) (string, error), files *int64, at ...string) comparison {
		return comparison{
			name: name, a: "filesync", b: strings.Join(append([]string{"C without a clock"}, at...), ", "), unit: "files/s", wanted: wanted,
			sides: func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
				dir, err := place(ctx, l)
				if err != nil {
					return nil, nil, err
				}
				return filesyncSides(ctx, l, dir, *files, at...)
			},
		}
	}
	return []entry{
		compare("filesync-tmpfs", 0.95, tmpfs, inMemory),
		compare("filesync-tmpfs-at", 0.93, tmpfs, inMemory, "at"),
		compare("filesync-ext4", 0.99, ext4, onExt4),
	}
}

// filesyncSides are the engine and the loop, both with files of 255 bytes and O_DSYNC, in
// one directory: ext4 looks for a free inode where the directory is, and one that was
// freed a moment ago is not free.
func filesyncSides(ctx context.Context, l *lab, dir string, files int64, at ...string) (a, b paired.Side, err error) {
	program, err := l.compile(ctx, "filesync")
	if err != nil {
		return nil, nil, err
	}
	env, err := l.prepare(ctx, "filesync", dir, map[string]any{"files": files, "size": "255"})
	if err != nil {
		return nil, nil, err
	}
	b = func(ctx context.Context) (float64, error) {
		return rateOf(ctx, program, append([]string{env.Dir, strconv.FormatInt(files, 10), "255"}, at...)...)
	}
	return childRate(env, "filesync.rate"), b, nil
}

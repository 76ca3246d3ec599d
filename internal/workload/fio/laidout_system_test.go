//go:build system

package fio

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// Whatever sizes files have, a trial that reads finds every block of them written, but for the part of a block at the end.
func TestFilesOfAnySizeAreWrittenWhole(t *testing.T) {
	seed := uint64(1)
	if s := os.Getenv("SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	dir, _ := devicetest.Filesystem(t, "ext4", 512<<20)
	for i := range 20 {
		files := 1 + random.IntN(random.IntN(60)+2)
		job := fmt.Sprintf("[j]\nrw=%s\nnrfiles=%d\nnumber_ios=1\n", pick("randread", "read", "randrw"), files)
		job += pick("", "direct=1\n") + pick("", "numjobs=2\n") + pick("", "bs=4k\n", "bs=512\n", "bs=2300\n", "bs=16k\n", "bsrange=4k-64k\n")
		switch random.IntN(4) {
		case 0:
			low := 64<<10 + random.IntN(64<<10)
			job += fmt.Sprintf("filesize=%d-%d\n", low, low+random.IntN(256<<10))
		case 1:
			job += fmt.Sprintf("filesize=%d\n", 64<<10+random.IntN(1<<20))
		default:
			job += fmt.Sprintf("size=%d\n", files*(64<<10)+random.IntN(20<<20))
		}
		if strings.Contains(job, "bs=2300") || strings.Contains(job, "bs=512") {
			job = strings.Replace(job, "direct=1\n", "", 1)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			env := newEnv(t, filepath.Join(dir, fmt.Sprint(i)), config{JobFile: job})
			if err := os.Mkdir(env.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(env.Dir)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatalf("%v\n%s", err, job)
			}
			written, err := filepath.Glob(filepath.Join(directory(env), "j.*"))
			if err != nil || len(written) == 0 {
				t.Fatalf("no files: %v\n%s", err, job)
			}
			for _, path := range written {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if lacks := info.Size() - inWrittenExtents(t, path); lacks >= 4096 {
					t.Errorf("%s: %d of %d bytes were never written\n%s", filepath.Base(path), lacks, info.Size(), job)
				}
			}
		})
	}
}

// extent is a line of filefrag: first and last block, where they are, and flags.
var extent = regexp.MustCompile(`(?m)^ *\d+: +(\d+)\.\. *(\d+):.*$`)

// inWrittenExtents is how many bytes of a file have been written, up to whole blocks.
func inWrittenExtents(t *testing.T, path string) int64 {
	t.Helper()
	const block = 4096
	var blocks int64
	for _, m := range extent.FindAllStringSubmatch(devicetest.Run(t, "filefrag", "-b4096", "-v", path), -1) {
		if slices.Contains(strings.FieldsFunc(m[0], func(r rune) bool { return r == ',' || r == ' ' || r == ':' }), "unwritten") {
			continue
		}
		first, _ := strconv.ParseInt(m[1], 10, 64)
		last, _ := strconv.ParseInt(m[2], 10, 64)
		blocks += last - first + 1
	}
	return blocks * block
}

//go:build system

package fio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestWhatWillBeReadIsWrittenOnce(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		want   map[string]int64 // sizes of files
	}{
		"files of its own": {
			config: parameters("rw=randread", "size=6m", "numjobs=2", "nrfiles=3", "direct=1", "runtime=1"),
			want:   map[string]int64{"w.0.0": 2 << 20, "w.0.2": 2 << 20, "w.1.1": 2 << 20},
		},
		"an odd size": {
			config: parameters("rw=randread", "size=1000k", "bs=4k", "runtime=1"),
			want:   map[string]int64{"w.0.0": 1000 << 10},
		},
		"parts of one file": {
			config: config{JobFile: "[a]\nfilename=x\nsize=1m\n[b]\nrw=randrw\nfilename=x:y\noffset=1m\nsize=4m"},
			want:   map[string]int64{"x": 3 << 20, "y": 3 << 20},
		},
		"overwritten": {
			config: parameters("rw=randwrite", "size=2m", "overwrite=1", "runtime=1"),
			want:   map[string]int64{"w.0.0": 2 << 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), c.config)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			times := map[string]time.Time{}
			for file, size := range c.want {
				times[file] = checkWritten(t, filepath.Join(directory(env), file), size)
			}
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			gone := ""
			for file, before := range times {
				if info, err := os.Stat(filepath.Join(directory(env), file)); err != nil || !info.ModTime().Equal(before) {
					t.Errorf("%s was written again", file)
				}
				gone = file
			}
			if _, err := (Engine{}).Run(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(directory(env), gone)); err != nil {
				t.Fatal(err)
			}
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			checkWritten(t, filepath.Join(directory(env), gone), c.want[gone])
		})
	}
}

func TestNothingIsPrefilledThatATrialCreatesOrThatIsLeftAsItIs(t *testing.T) {
	never := parameters("rw=read", "size=1m")
	never.Prefill = prefillNever
	for name, c := range map[string]config{
		"a log":      parameters("rw=write", "size=1m", "fdatasync=1"),
		"never":      never,
		"a verifier": parameters("rw=read", "size=1m", "verify=md5"),
	} {
		env := newEnv(t, t.TempDir(), c)
		if err := (Engine{}).Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if entries, _ := os.ReadDir(directory(env)); len(entries) != 0 {
			t.Errorf("%s: %v was written", name, entries)
		}
	}
}

func TestATargetThatIsTooSmallIsLeftAlone(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	for name, c := range map[string]config{
		"one file":     parameters("rw=read", "size=1g"),
		"many clones":  parameters("rw=write", "size=16m", "numjobs=8"),
		"a late jobs":  {JobFile: "[a]\nrw=read\nsize=1m\n[b]\nrw=write\nsize=100m"},
		"an overflow":  parameters("rw=read", "size=1p", "numjobs=256", "nrfiles=100"),
		"blocks of it": parameters("rw=read", "bs=64m"),
	} {
		env := newEnv(t, dir, c)
		err := Engine{}.Prepare(t.Context(), env)
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" || !strings.Contains(f.Message, "MiB available") || f.Remedy == "" {
			t.Errorf("%s: %+v", name, err)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, "*", "*.0.0")); len(entries) != 0 {
			t.Errorf("%s: %v was written", name, entries)
		}
	}
}

func TestTheSizeOfASmallTargetIsChosenOnce(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, parameters("rw=randread", "runtime=1"))
	m := measureOnce(t, env)
	chosen := ""
	for line := range strings.Lines(m.Input) {
		if after, ok := strings.CutPrefix(line, "size="); ok {
			chosen = strings.TrimSpace(after)
		}
	}
	if n, _ := strconv.Atoi(chosen); n < 30<<20 || n > 51<<20 || n%(1<<20) != 0 {
		t.Errorf("the size is %s", chosen)
	}
	if again := measureOnce(t, env); !strings.Contains(again.Input, "size="+chosen+"\n") {
		t.Errorf("the second attempt has\n%s", again.Input)
	}
}

func TestBlockDevices(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		filled int64 // bytes from the start that must hold data
		marked bool  // whether what is written to its start afterwards stays, as nothing is prefilled again
	}{
		"the default size":     {parameters("rw=randread", "runtime=1"), 64 << 20 / 10 * 8 >> 20 << 20, true},
		"half of it":           {parameters("rw=randread", "size=50%", "runtime=1"), 32 << 20, true},
		"a part":               {parameters("rw=randrw", "size=8m", "offset=4m", "runtime=1"), 12 << 20, true},
		"all of it, by a file": {config{JobFile: "[a]\nrw=randread\nruntime=1\ndirect=1"}, 64 << 20, true},
		"only written":         {parameters("rw=randwrite", "size=1m", "offset=1m", "runtime=1"), 2 << 20, true},
		"trims":                {parameters("rw=randtrim", "size=1m", "runtime=1"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			device := devicetest.Loop(t, 64<<20)
			devicetest.DirectIO(t, device)
			env := newDeviceEnv(t, device, c.config)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(device)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content[:c.filled], make([]byte, 4096)) || bytes.Trim(content[c.filled:], "\x00") != nil && len(bytes.Trim(content[c.filled:], "\x00")) > 0 {
				t.Errorf("not exactly the first %d bytes were written", c.filled)
			}
			mark := bytes.Repeat([]byte("mark"), 1024)
			writeAt(t, device, mark)
			m := measureOnce(t, env)
			if content, err = os.ReadFile(device); err != nil || c.marked != bytes.HasPrefix(content, mark) {
				t.Errorf("written again: %t, %v", !bytes.HasPrefix(content, mark), err)
			}
			if m.DirectIO.Effective != result.Direct || len(m.Metrics) == 0 {
				t.Errorf("%+v, %v", m.DirectIO, m.Metrics)
			}
		})
	}
	t.Run("too small", func(t *testing.T) {
		env := newDeviceEnv(t, devicetest.Loop(t, 8<<20), parameters("rw=randread", "size=4m", "offset=6m"))
		if f, ok := errors.AsType[*trial.Failure](Engine{}.Prepare(t.Context(), env)); !ok || f.Class != reason.TargetTooSmall {
			t.Errorf("got %+v", f)
		}
	})
}

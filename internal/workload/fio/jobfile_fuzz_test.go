package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// Whatever the text, the parser neither panics nor lets anything through that
// fio, or a shell behind it, would interpret.
func FuzzJobFile(f *testing.F) {
	for _, seed := range []string{
		"[a]\nsize=1m", "[global]\nbs=4k\n[a]\nrw=rw\nsize=50%\n[b]\nstonewall", "[a]\nfilename=x:y\nsize=1k",
		"[", "]", "=", "[a]\n=", "[a]\nbssplit=4k/50:8k/:1m", "[a]\nbsrange=1-2,3-4", "[a]\nsize=99999999999999999999p",
		"[a]\nruntime=999999999999999d", "[a]\nrandom_distribution=zipf:1.2:", "\xff\xfe[a]", "[a]\nsize=1\x00m",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			jobs, err := resolve(config{JobFile: text}, mode, "w")
			if err != nil {
				_ = err.Error()
				continue
			}
			rendered := render(withSeed(jobs, "1"), always())
			if strings.ContainsAny(rendered, "$`'\"\\(){}|&<>*?~!;#\x00") || strings.Contains(rendered, "..") && strings.Contains(rendered, "filename=..") {
				t.Errorf("rendered:\n%s", rendered)
			}
			estimate(jobs)
			// What we render, we read back as the same.
			own := strings.NewReplacer("verify_state_save=0\n", "", "slat_percentiles=1\n", "", "clat_percentiles=1\n", "", "lat_percentiles=1\n", "")
			again, err := resolve(config{JobFile: own.Replace(rendered)}, mode, "w")
			if err != nil {
				t.Fatalf("what was rendered is refused: %v\n%s", err, rendered)
			}
			if render(again, always()) != rendered {
				t.Errorf("rendered differently:\n%s\n%s", rendered, render(again, always()))
			}
		}
	})
}

// Whatever a command line, its variables and what it includes are, the parser neither panics
// nor lets anything through that fio, or a shell behind it, would interpret.
func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{
		"fio --name=a --rw=read --size=1m", "sudo X=1 fio -name a -direct 1 --size=${X}m --name=b --filename='/dev/a b' > out 2>&1 | tee x",
		"fio x.fio --bs=4k", "--name=a --size=$((1+1))", "fio \\\n --name=\"a b\" --size=(1+2)*4k # x", "fio --name=a --size=${X:-1m} '", "fio --section=b x.fio", "fio --name=a --filename_format=$jobname.$filenum --nrfiles=3 --size=1m",
	} {
		f.Add(seed, "[b]\nsize=$ncpus*4k\ninclude x.fio", "4k")
	}
	f.Fuzz(func(t *testing.T, text, included, value string) {
		c := config{CommandLine: text, Include: map[string]string{"x.fio": included}, Variables: map[string]string{"X": value}}
		for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} {
			all := resolveAll(c, mode, "w")
			if len(all.problems) > 0 {
				_ = firstOf(all.problems, c.field()).Error()
			}
			// Also of what is refused: what fio would get must be harmless by itself.
			rendered := render(withSeed(all.jobs, "1"), always())
			if strings.ContainsAny(rendered, "$`'\"\\(){}|&<>*?~!;#\x00") || strings.Contains(rendered, "filename=/") || strings.Contains(rendered, "filename=..") {
				t.Errorf("rendered:\n%s", rendered)
			}
			for _, change := range all.changes {
				if strings.ContainsAny(change.String(), "\n\r\x1b") || len(change.String()) > 400 {
					t.Errorf("a change is not one line: %q", change.String())
				}
			}
			if len(all.problems) == 0 {
				estimate(all.jobs)
			}
		}
	})
}

package workload

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestANoteLiesBesideTheFilesOrInTheStateOfADevice(t *testing.T) {
	for mode, where := range map[trial.Mode]string{trial.Filesystem: "dir/.size-w.json", trial.Block: "state/size-w.json"} {
		root := t.TempDir()
		env := Env{Target: trial.Target{Mode: mode}, Dir: filepath.Join(root, "dir"), State: filepath.Join(root, "state")}
		for _, dir := range []string{env.Dir, env.State} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		got := 0
		if ok, err := env.LoadNote("size-w", &got); ok || err != nil {
			t.Fatalf("a note that is not there: %t, %v", ok, err)
		}
		if err := env.SaveNote("size-w", 7); err != nil {
			t.Fatal(err)
		}
		if ok, err := env.LoadNote("size-w", &got); !ok || err != nil || got != 7 {
			t.Errorf("%s: %d, %t, %v", mode, got, ok, err)
		}
		path := filepath.Join(root, where)
		if err := os.WriteFile(path, []byte("{cut o"), 0o600); err != nil {
			t.Fatalf("it is not at %s: %v", path, err)
		}
		if ok, err := env.LoadNote("size-w", &got); ok || err != nil {
			t.Errorf("a broken note: %t, %v", ok, err)
		}
	}
}

func TestEachTrialHasASeedOfItsOwn(t *testing.T) {
	seeds := map[uint32]Env{}
	for _, run := range []string{"r1", "r2"} {
		for _, worker := range []string{"fast.a", "fast.b", "slow.a"} {
			for _, load := range []string{"oltp", "scan"} {
				for _, variant := range []string{"", "control", "off"} {
					for repeat := 1; repeat <= 20; repeat++ {
						env := Env{Run: run, Worker: worker, Workload: trial.Workload{Name: load}, Trial: trial.Trial{Variant: variant, Repeat: repeat}}
						seed := env.Seed()
						if other, ok := seeds[seed]; ok || seed == 0 || seed > math.MaxInt32 {
							t.Errorf("%+v has the seed %d, as has %+v", env, seed, other)
						}
						seeds[seed] = env
					}
				}
			}
		}
	}
	env := Env{Run: "r1", Worker: "fast.a", Workload: trial.Workload{Name: "oltp"}, Trial: trial.Trial{Repeat: 1}}
	// It is pinned: a worker of another version that resumes a run goes on in the same way.
	if env.Seed() != 682883340 {
		t.Errorf("the seed is %d", env.Seed())
	}
}

func TestRoomIsWhatIsFree(t *testing.T) {
	env := Env{Target: trial.Target{Mode: trial.Filesystem}, Dir: t.TempDir()}
	if n, err := env.Room(); err != nil || n == 0 {
		t.Errorf("%d, %v", n, err)
	}
	env.Dir = filepath.Join(env.Dir, "gone")
	if _, err := env.Room(); trial.AsFailure(err).Class != reason.TargetUnusable {
		t.Errorf("got %v", err)
	}
}

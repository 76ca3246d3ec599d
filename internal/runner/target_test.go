package runner

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestADirectoryThatCannotBeWrittenNamesFieldAndRemedy(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 999, 998); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[trial.Source]string{trial.PersistentVolumeClaim: "persistentVolumeClaim.runAsUser", trial.HostPath: "hostPath.path"} {
		f := trial.AsFailure(notWritable(trial.Target{Name: "db", Source: source}, dir, syscall.EACCES))
		if f.Class != reason.TargetUnusable || f.Field != "spec.targets[db]."+want || !strings.Contains(f.Message, "which belongs to user") || f.Remedy == "" {
			t.Errorf("%s: %+v", source, f)
		}
		if stat := info.Sys().(*syscall.Stat_t); source == trial.PersistentVolumeClaim && stat.Uid == 999 && !strings.Contains(f.Remedy, "runAsUser to 999") {
			t.Errorf("%s: %s", source, f.Remedy)
		}
	}
}

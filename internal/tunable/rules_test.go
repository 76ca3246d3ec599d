package tunable

import (
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestRulesNameTheFieldAndKnowWhatLosesData(t *testing.T) {
	for _, c := range []struct{ name, value, field, want string }{
		{"block.queue.scheduler", "none", "", ""},
		{"block.queue.sheduler", "none", "name", "did you mean block.queue.scheduler?"},
		{"block.queue.nr_requests", "many", "value", "block.queue.nr_requests"},
	} {
		err := Rules{}.Check(c.name, c.value)
		if c.field == "" {
			if err != nil {
				t.Errorf("%s=%s: %v", c.name, c.value, err)
			}
			continue
		}
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.InvalidSpec || f.Field != c.field || !strings.Contains(f.Error(), c.want) {
			t.Errorf("%s=%s: %+v", c.name, c.value, err)
		}
	}
	for setting, loses := range map[[2]string]bool{
		{"block.queue.write_cache", "write through"}: true, {"block.queue.write_cache", "write back"}: false,
		{"zfs.dataset.sync", "disabled"}: true, {"zfs.dataset.sync", "always"}: false,
		{"zfs.module.zfs_nocacheflush", "1"}: true, {"block.queue.scheduler", "none"}: false,
		{"no.such.thing", "1"}: false,
	} {
		if reason := (Rules{}).DataLoss(setting[0], setting[1]); (reason != "") != loses {
			t.Errorf("%v: %q", setting, reason)
		}
	}
}

package device

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestWhereTheJournalOfAnExt4Is(t *testing.T) {
	const virtual = "sys/devices/virtual/block/"
	const task = "sys/fs/ext4/dm-3/journal_task"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		note  string
	}{
		"a file of its own":                     {map[string]string{task: "12", "proc/fs/jbd2/dm-3-8/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3", ""},
		"the only one outside":                  {map[string]string{task: "0", "proc/fs/jbd2/sda-8/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3 zram1", ""},
		"one of two, and its thread is seen":    {map[string]string{task: "12", "proc/12/comm": "jbd2/dm-4", "proc/fs/jbd2/dm-4/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3 dm-4", ""},
		"one of two, and its thread is not":     {map[string]string{task: "0", "proc/fs/jbd2/dm-4/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3", "one of dm-4, zram1"},
		"the thread's name is cut":              {map[string]string{task: "12", "proc/12/comm": "jbd2/disk-with-", "proc/fs/jbd2/disk-with-a-long-name/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3 disk-with-a-long-name", ""},
		"a process that only has that number":   {map[string]string{task: "12", "proc/12/comm": "postgres", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3 zram1", ""},
		"none":                                  {map[string]string{task: "<none>", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3", ""},
		"sysfs of file systems is not seen":     {map[string]string{"proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3", ""},
		"no journals are seen":                  {map[string]string{task: "12"}, "fs:/a dm-3", ""},
		"a journal of what is no block device":  {map[string]string{task: "12", "proc/fs/jbd2/gone/info": ""}, "fs:/a dm-3", ""},
		"its device's name begins as another's": {map[string]string{task: "0", "proc/fs/jbd2/dm-31-8/info": "", "proc/fs/jbd2/zram1/info": ""}, "fs:/a dm-3 zram1", ""},
	} {
		all := map[string]string{"proc/self/mountinfo": "20 1 250:0 / /a rw - ext4 /dev/dm-3 rw"}
		for i, device := range []string{"dm-3", "dm-4", "zram1", "disk-with-a-long-name"} {
			all[virtual+device+"/dev"] = fmt.Sprint("250:", i)
			all[fmt.Sprint("sys/dev/block/250:", i)] = "->" + virtual + device
			all["sys/class/block/"+device] = "->" + virtual + device
		}
		maps.Copy(all, c.files)
		s := tree(t, all)
		layers, err := s.Layers("/a")
		if err != nil || ids(layers) != c.want || !strings.Contains(layers[0].Note, c.note) || c.note == "" && layers[0].Note != "" {
			t.Errorf("%s: %s, want %s (%v), %q", name, ids(layers), c.want, err, layers[0].Note)
		}
	}
}

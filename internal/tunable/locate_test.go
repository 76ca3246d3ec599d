package tunable_test

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/tunable/tunabletest"
)

func TestADiskIsFoundAgainAndNeverTakenForAnother(t *testing.T) {
	machine := func() *tunabletest.Kernel {
		k := tunabletest.New()
		k.Attach("sda", "8:0", "wwid-a")
		k.Attach("sdb", "8:16", "wwid-b")
		k.Attach("vda", "252:0", "")
		k.Attach("sdr", "8:96", "")
		k.Loop("loop1", "7:1", "/one.img")
		return k
	}
	for name, c := range map[string]struct {
		disk     string
		tunable  string // empty: block.queue.scheduler
		happens  func(k *tunabletest.Kernel)
		rebooted bool
		want     tunable.Presence
		called   string
		note     string
	}{
		"nothing":                        {disk: "sda", want: tunable.Here, called: "sda"},
		"nothing, to one without a name": {disk: "vda", want: tunable.Here, called: "vda"},
		"a boot":                         {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Reboot(nil) }, rebooted: true, want: tunable.Fresh, called: "sda"},
		"a boot that exchanges names":    {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Reboot(map[string]string{"sda": "sdb", "sdb": "sda"}) }, rebooted: true, want: tunable.Fresh, called: "sdb", note: "sda is now called sdb"},
		"a boot, to one without a name":  {disk: "vda", happens: func(k *tunabletest.Kernel) { k.Reboot(nil) }, rebooted: true, want: tunable.Gone, note: "another disk now has its name"},
		"it was taken away":              {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Detach("sda") }, want: tunable.Gone, note: "sda is gone; its settings are gone with it"},
		"it was taken away, and kept it": {disk: "sda", tunable: "scsi.disk.cache_type", happens: func(k *tunabletest.Kernel) { k.Detach("sda") }, want: tunable.Away, note: "may have kept"},
		"another one in its place":       {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Detach("sda"); k.Attach("sda", "8:0", "wwid-c") }, want: tunable.Gone, note: "another disk now has its name"},
		"another one without a name":     {disk: "vda", happens: func(k *tunabletest.Kernel) { k.Detach("vda"); k.Attach("vda", "252:0", "") }, want: tunable.Gone, note: "another disk now has its name"},
		"plugged in again":               {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Detach("sda"); k.Attach("sdc", "8:32", "wwid-a") }, want: tunable.Fresh, called: "sdc", note: "sda is now called sdc"},
		"two paths to it after a boot":   {disk: "sda", happens: func(k *tunabletest.Kernel) { k.Attach("sdc", "8:32", "wwid-a"); k.Reboot(nil) }, rebooted: true, want: tunable.Fresh, called: "sda"},
		"two paths to it, with other names": {disk: "sda", happens: func(k *tunabletest.Kernel) {
			k.Detach("sda")
			k.Attach("sdc", "8:32", "wwid-a")
			k.Attach("sdd", "8:48", "wwid-a")
			k.Reboot(nil)
		}, rebooted: true, want: tunable.Gone, note: "2 disks have the identity of sda"},
		"a loop without its file":    {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Eject("loop1") }, want: tunable.Here, called: "loop1", note: "keeps its settings"},
		"a loop with its file again": {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Eject("loop1"); k.Insert("loop1", "/one.img") }, want: tunable.Here, called: "loop1"},
		"a loop with another file":   {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Eject("loop1"); k.Insert("loop1", "/two.img") }, want: tunable.Here, called: "loop1", note: "keeps its settings"},
		"a loop with another file, and the file on another loop": {disk: "loop1", happens: func(k *tunabletest.Kernel) {
			k.Eject("loop1")
			k.Insert("loop1", "/two.img")
			k.Loop("loop2", "7:2", "/one.img")
		}, want: tunable.Here, called: "loop1", note: "keeps its settings"},
		"a loop that was removed and made again": {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Detach("loop1"); k.Loop("loop1", "7:1", "/two.img") }, want: tunable.Gone, note: "its settings are gone with it"},
		"the same, with its file":                {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Detach("loop1"); k.Loop("loop1", "7:1", "/one.img") }, want: tunable.Fresh, called: "loop1"},
		"another medium in the same drive":       {disk: "sdr", happens: func(k *tunabletest.Kernel) { k.Insert("sdr", "") }, want: tunable.Here, called: "sdr"},
		"the file on another loop":               {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Detach("loop1"); k.Loop("loop2", "7:2", "/one.img") }, want: tunable.Fresh, called: "loop2"},
		"a boot, and the file on another":        {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Detach("loop1"); k.Loop("loop2", "7:2", "/one.img"); k.Reboot(nil) }, rebooted: true, want: tunable.Fresh, called: "loop2"},
		"a boot, and another file in a loop":     {disk: "loop1", happens: func(k *tunabletest.Kernel) { k.Detach("loop1"); k.Loop("loop1", "7:1", "/two.img"); k.Reboot(nil) }, rebooted: true, want: tunable.Gone},
	} {
		kernel := machine()
		h := kernel.Host()
		k := knob(t, h, "block.queue.scheduler", c.disk)
		if c.tunable != "" {
			k.Tunable = c.tunable
		}
		if c.happens != nil {
			c.happens(kernel)
		}
		l, err := h.Locate(t.Context(), k, !c.rebooted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		called := ""
		if l.Knob.Device != nil {
			called = l.Knob.Device.Name
		}
		if l.Presence != c.want || called != c.called || !strings.Contains(l.Note, c.note) || c.want == tunable.Here && (c.note == "") != (l.Note == "") {
			t.Errorf("%s: %+v (%s); want %v (%s)", name, l, called, c.want, c.called)
		}
	}
}

func TestAKernelThatDoesNotCountDisksIsAskedForNameAndNumber(t *testing.T) {
	kernel := tunabletest.New()
	kernel.Attach("vda", "252:0", "")
	kernel.Attach("sda", "8:0", "a")
	h := kernel.Host()
	old := func(name string) tunable.Knob {
		k := knob(t, h, "block.queue.scheduler", name)
		k.Device.DiskSeq, k.Device.Object = 0, 0
		return k
	}
	for _, name := range []string{"vda", "sda"} {
		if l, err := h.Locate(t.Context(), old(name), true); err != nil || l.Presence != tunable.Here {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	k := old("sda")
	kernel.Detach("sda")
	kernel.Attach("sda", "8:0", "b")
	if l, err := h.Locate(t.Context(), k, true); err != nil || l.Presence != tunable.Gone {
		t.Errorf("another disk: %+v, %v", l, err)
	}
	k = old("vda")
	if l, err := h.Locate(t.Context(), k, false); err != nil || l.Presence != tunable.Gone {
		t.Errorf("after a boot: %+v, %v", l, err)
	}
}

func TestADatasetIsFoundAgainByItsGUID(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(k *tunabletest.Kernel)
		want    tunable.Presence
		called  string
	}{
		"nothing":                       {func(*tunabletest.Kernel) {}, tunable.Here, "tank/bench"},
		"a boot":                        {func(k *tunabletest.Kernel) { k.Reboot(nil) }, tunable.Here, "tank/bench"},
		"it was renamed":                {func(k *tunabletest.Kernel) { k.Rename("tank/bench", "tank/x") }, tunable.Here, "tank/x"},
		"it was destroyed":              {func(k *tunabletest.Kernel) { k.Destroy("tank/bench") }, tunable.Gone, ""},
		"another disk now has its name": {func(k *tunabletest.Kernel) { k.Destroy("tank/bench"); k.Create("tank/bench", "3") }, tunable.Gone, ""},
		"its pool was exported":         {func(k *tunabletest.Kernel) { k.Destroy("tank/bench"); k.Destroy("tank") }, tunable.Away, ""},
	} {
		kernel := tunabletest.New()
		kernel.Create("tank", "1")
		kernel.Create("tank/bench", "2")
		k := tunable.Knob{Tunable: "zfs.dataset.sync", Dataset: &tunable.DatasetID{Name: "tank/bench", GUID: "2", PoolGUID: tunabletest.PoolGUID}}
		c.happens(kernel)
		l, err := kernel.Host().Locate(t.Context(), k, true)
		called := ""
		if l.Knob.Dataset != nil {
			called = l.Knob.Dataset.Name
		}
		if err != nil || l.Presence != c.want || called != c.called {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

func TestParametersGoWithTheirModule(t *testing.T) {
	kernel := tunabletest.New()
	k := tunable.Knob{Tunable: "zfs.module.zfs_nocacheflush"}
	if l, err := kernel.Host().Locate(t.Context(), k, true); err != nil || l.Presence != tunable.Here {
		t.Errorf("%+v, %v", l, err)
	}
	kernel.Unload()
	if l, err := kernel.Host().Locate(t.Context(), k, true); err != nil || l.Presence != tunable.Gone || l.Note == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// A disk whose identification page has no designator that makes a WWID, as QEMU's, has its serial number elsewhere.
func TestASCSIDiskWithoutAWWIDIsKnownByItsSerialNumber(t *testing.T) {
	for name, c := range map[string]struct {
		wwid, page, want string
	}{
		"a serial number":              {page: "\x00\x80\x00\x05scsi0", want: "scsi0"},
		"one that is filled up":        {page: "\x00\x80\x00\x0c  WD-123    ", want: "WD-123"},
		"none beside a WWID":           {wwid: "wwid-a", page: "\x00\x80\x00\x05scsi0"},
		"a longer page than it says":   {page: "\x00\x80\x00\x02abcd", want: "ab"},
		"a shorter page than it says":  {page: "\x00\x80\xff\xffabcd", want: "abcd"},
		"an empty number":              {page: "\x00\x80\x00\x04    "},
		"zeros":                        {page: "\x00\x80\x00\x04\x00\x00\x00\x00"},
		"another page":                 {page: "\x00\x83\x00\x05scsi0"},
		"less than a header":           {page: "\x00\x80"},
		"bytes that are no text":       {page: "\x00\x80\x00\x04a\x01\xffb"},
		"two words, which no disk has": {page: "\x00\x80\x00\x05ab cd"},
	} {
		k := tunabletest.New()
		k.Attach("sda", "8:0", c.wwid)
		k.Page80("sda", c.page)
		d, err := k.Host().DeviceID("sda")
		if err != nil || d.Serial != c.want || d.WWID != c.wwid {
			t.Errorf("%s: %+v, %v, want the serial number %q", name, d, err, c.want)
		}
	}
}

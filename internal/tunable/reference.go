package tunable

import (
	"fmt"
	"io"
	"strings"
)

//go:generate go run ../../hack/tunables ../../docs/reference/tunables.md

// WriteReference writes docs/reference/tunables.md from the catalogue.
func WriteReference(w io.Writer) error {
	b := &strings.Builder{}
	b.WriteString(`# Tunables

<!-- Generated from internal/tunable by "go generate ./internal/tunable". -->

The settings of a node that a benchmark's variants may change, and no others.
` + "`storagebench tunables`" + ` lists them with this node's current values, and
` + "`storagebench tunables NAME --target PATH`" + ` describes one in detail.

## How a setting is changed and restored

1. The worker writes the old value into a journal on the node (` + "`/var/lib/storagebench/journal`" + `),
   together with the old values of all settings of the same disk that the kernel may change along
   with it. Only when the journal is on disk does the worker write the new value.
2. It reads the value back. If the kernel rounded or ignored it, or if a later setting undid an
   earlier one, the worker restores everything that it changed. The benchmark fails, and its message
   names the value that was requested and the value that was read.
3. At the end it restores the settings in reverse order, reads each one back, and only then removes
   it from the journal.

If the benchmark is killed in between, ` + "`storagebench restore`" + ` on the node does the third step. You can
run it any number of times. No benchmark with tunables starts on a node whose journal is not empty.

- **Somebody else's change** is never overwritten. A setting that has neither its old value nor the
  benchmark's keeps its value and stays in the journal until a person has looked at it and runs
  ` + "`storagebench restore --forget`" + `. Two gaps remain: a change that somebody makes between the write of
  a value and the record of its effect looks like the kernel's own, and so does a lower
  ` + "`block.device.queue_depth`" + `.
- **After a reboot** a setting that the kernel forgets has its boot value again, and keeps it. A
  setting that survives a reboot is restored; none is set on a node whose journal is in memory (tmpfs),
  which a power cut would take along.
- **A disk** is recognised by the kernel's own object (its directory in sysfs) until the node
  reboots, and by its WWID, serial number or backing file afterwards, never by its name. If the disk
  is gone, so are its settings. If the drive itself may keep a setting (its cache), the setting stays
  in the journal.
- **A loop device** keeps every setting of its queue when its file is detached, and applies them to
  the next file. They are restored whatever is attached to it, even if nothing is.
- **A dataset** is recognised by its GUID, also after a rename. If it was destroyed, so were its
  properties. If its pool is not imported, they stay in the journal.
- **A damaged journal** is never used (each record has a SHA-256, and so has the whole file).
  ` + "`storagebench restore`" + ` prints what is still readable, and ` + "`--forget`" + ` moves it aside.

Scopes: a **Node** setting affects everything on the node. A **Device** setting affects each leaf
disk under the target (all disks of a ZFS pool), for all its users. A **Dataset** setting affects the
target's dataset and those that inherit from it.

Risks: **DataLoss** means that a power failure during the benchmark can lose acknowledged writes or
damage a pool. **Memory** means that the node may run out of memory.
`)
	for _, section := range []struct{ title, prefix, text string }{
		{"ZFS module", "zfs.module.", "Parameters of the loaded zfs module, for all pools of the node."},
		{"ZFS dataset", "zfs.dataset.", "Set by the node's own zfs, whose version must fit the module."},
		{"Caches of disks", "scsi.|ata.|nvme.", "The cache in the disk itself; without it the disk is slower. They need hdparm or nvme-cli, " +
			"except for `scsi.disk.cache_type`. sysfs does not tell whether that shows the disk's state or only the kernel's view: " +
			"if somebody set it with \"temporary\" before the benchmark, it is restored without."},
		{"Block layer", "block.", "Attributes of the queue in front of a disk."},
		{"Page cache", "vm.", "Sysctls."},
	} {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| Tunable | Scope | Values | Risk | After a reboot |\n|---|---|---|---|---|\n", section.title, section.text)
		var notes strings.Builder
		restoring := ""
		for _, t := range catalogue().all {
			if !begins(t.Name, section.prefix) {
				continue
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", t.Name, t.Scope, t.Values(), riskCell(t), map[Survival]string{Never: "forgotten", Always: "kept", Maybe: "the drive decides"}[t.Survives])
			fmt.Fprintf(&notes, "- `%s`: %s\n  At `%s`.%s\n", t.Name, t.About, t.Where, restoringNote(t, restoring))
			restoring = t.Restoring
		}
		fmt.Fprintf(b, "\n%s", notes.String())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func begins(name, prefixes string) bool {
	for prefix := range strings.SplitSeq(prefixes, "|") {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func riskCell(t Tunable) string {
	var parts []string
	for _, r := range t.risks {
		if len(r.values) == 0 {
			parts = append(parts, fmt.Sprintf("**%s**: %s", r.level, r.reason))
			continue
		}
		parts = append(parts, fmt.Sprintf("**%s** with %s: %s", r.level, "`"+strings.Join(r.values, "`, `")+"`", r.reason))
	}
	if len(parts) == 0 {
		return string(None)
	}
	return strings.Join(parts, "; ")
}

// restoringNote does not repeat the note of the tunable before.
func restoringNote(t Tunable, before string) string {
	switch t.Restoring {
	case "":
		return ""
	case before:
		return " It is restored like the one before."
	default:
		return " " + t.Restoring
	}
}

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
` + "`storagebench tunables`" + ` lists them with this node's present values, and
` + "`storagebench tunables NAME --target PATH`" + ` says what is known of one.

## How one is set, and put back

1. Its old value is written into a journal on the node (` + "`/var/lib/storagebench/journal`" + `), together
   with those of all settings of the same disk that the kernel may change along with it. The
   new value is written only when that is on the disk.
2. It is read back. A value that the kernel rounds or ignores is not taken: everything that
   was changed is put back, and the benchmark fails with what was wanted and what was seen.
   The same if a later setting undoes an earlier one.
3. It is put back in reverse order, read back again, and only then taken off the journal.

If the benchmark is killed in between, ` + "`storagebench restore`" + ` on the node does the third step, as
often as it is called. No benchmark with tunables starts on a node whose journal is not empty.

- **Somebody else's change** is never written over. A setting that has neither its old value
  nor the benchmark's stays as it is and in the journal, until a person has looked at it:
  ` + "`storagebench restore --forget`" + `. Only what changed in the moments between the writing of a
  value and the record of what came of it cannot be told from the kernel's own doing.
- **After a reboot** a setting that the kernel forgets has been put back by the boot, and what
  the boot has put there stays. One that survives is restored.
- **A disk** is known by the kernel's own object (its directory in sysfs) while the node is up, and by its WWID, serial number
  or backing file afterwards, never by its name. If it is gone, its settings went with it. If it
  may have kept one (the cache of a drive), the setting stays in the journal.
- **A loop device** keeps every setting of its queue when its file is detached, and gives them to the next
  file. They are put back whatever is attached to it, also if nothing is.
- **A dataset** is known by its GUID, through renames. If it was destroyed, its properties went
  with it; if its pool is not imported, they stay in the journal.
- **A damaged journal** (each record has a SHA-256, and all have one together) is never used.
  ` + "`storagebench restore`" + ` prints what can be read of it, and ` + "`--forget`" + ` moves it aside.

Scopes: a setting of the **Node** affects everything on it; of a **Device**, each leaf disk under
the target (of a ZFS pool all of its disks), whoever else uses it; of a **Dataset**, the target's
dataset and those that inherit from it.

Risks: **DataLoss** means that acknowledged writes are lost, or a pool damaged, if the node loses
power meanwhile; **Memory**, that the node may run short of it.
`)
	for _, section := range []struct{ title, prefix, text string }{
		{"ZFS module", "zfs.module.", "Parameters of the loaded zfs module, for all pools of the node."},
		{"ZFS dataset", "zfs.dataset.", "Set by the node's own zfs, whose version must fit the module."},
		{"Caches of disks", "scsi.|ata.|nvme.", "What is in the disk itself, and slows it down if it is off. They need hdparm or nvme-cli, " +
			"but for `scsi.disk.cache_type`, of which sysfs does not say whether what it shows is the disk's state or only the kernel's view: " +
			"if it was set with \"temporary\" before the benchmark, it is put back without."},
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

// restoringNote leaves out what the tunable before has said.
func restoringNote(t Tunable, before string) string {
	switch t.Restoring {
	case "":
		return ""
	case before:
		return " It is put back as the one before."
	default:
		return " " + t.Restoring
	}
}

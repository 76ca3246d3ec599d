// Package journal sets tunables and restores them, whatever happens in between.
//
// In: assignments of values to knobs (internal/tunable), and their owner. Out:
// each knob's old and new state, and a report of what was restored. In between, a
// file on the node holds everything that has to be restored.
//
//  1. Open opens and locks the node's journal for this process. It reports a
//     damaged journal and never uses it.
//  2. Apply refuses if the journal has an entry, because some setting of the node
//     is still changed. For each knob it reads the old value and writes it into the
//     journal. Only when that is on disk does it write the new value. It reads back
//     what the kernel made of it, also for the other settings of the same disk,
//     because the kernel resets some of them, and writes that into the journal too.
//     Before it looks, it waits until the kernel has done what it does later (Settle).
//     If the kernel does not accept a value, or a later one undoes it, Apply
//     restores everything and fails.
//  3. Restore goes through the journal from its end. It leaves a knob alone that
//     has its old value. It writes and reads back a knob that has our value. A
//     knob that has neither was changed by somebody else: it keeps its value, and
//     the entry stays until a person has looked at it. Only when the knob is seen
//     to have the right value is its entry removed.
//  4. Forget removes the remaining entries, after a person has looked at them.
//
// # Stages
//
// An entry is Planned when its old value is recorded, Applied when the effect of the
// new value is recorded, and Restoring when the value to restore to is decided for
// each knob. That decision is recorded because restoring a scheduler resets
// nr_requests to a value that is neither the old one nor ours: after a crash at that
// moment it would look like somebody else's.
//
// # After a reboot
//
// The boot ID of an entry tells whether the node has rebooted since. If so, a setting that
// does not survive a boot is no longer changed: it keeps the value that the boot gave it,
// and the report says so. A setting that survives is restored as usual. What the kernel
// derives from it (a disk's write_cache, from the drive's cache) was derived from our value
// then, and is left to the kernel, which derives it from the old one. Within a boot a
// disk is found again by its kernel object, and after one by its WWID, serial number or
// backing file, never by its name.
//
// # The file
//
// The file is always replaced as a whole: a new file is written, synced and renamed
// over the old one, and the directory is synced. Each record has a SHA-256, and the
// header has one over all records, so that a truncated file or a flipped bit anywhere
// is detected. An empty journal has no file. A second file is locked while a journal
// is open. Beside it lie records of what workers have claimed (record.go), which the journal
// itself neither reads nor writes.
package journal

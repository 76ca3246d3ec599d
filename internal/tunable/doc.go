// Package tunable knows the settings of a node that a benchmark may change: what
// they are called, which values they take, what they put at risk, where they are,
// and how they are put back.
//
// In: the name and value of a setting as a spec has them, and a target's path.
// Out: knobs, each one value of one thing (the scheduler of one disk, the sync
// property of one dataset), which can be read, written, and found again.
//
//  1. Check refuses a name that is not in the catalogue, and a value that is not
//     among those that the setting takes, without looking at the machine.
//  2. Host.Place finds what is under a target: its leaf disks, and its dataset if
//     it is on ZFS.
//  3. Host.Plan makes assignments of settings: one for a setting of the node, one
//     for each disk for a setting of devices. It refuses what the target has not.
//  4. Host.Read, Prepare and Write get at a knob. Values are in one form each, so
//     that two of them can be compared: "[none] mq-deadline" is none, and the
//     limit of the ARC is what the ARC obeys and not what was last written.
//  5. Host.Locate finds a knob again, by what identifies its device or dataset and
//     not by its name, after whatever has happened to the machine in between.
//
// The catalogue is an allow-list. Values reach a file of sysfs or procfs, or an
// argument of zfs, hdparm or nvme; never a shell, and never a path.
//
// The package writes when it is told to and remembers nothing: that an old value
// is on disk before a new one is written is the business of internal/runner/journal.
package tunable

// Package tunable holds the catalogue of the settings of a node that a benchmark
// may change: their names, values and risks, where they are, and how to put them
// back.
//
// In: the name and value of a setting as a spec has them, and a target's path.
// Out: knobs, each one value of one thing (the scheduler of one disk, the sync
// property of one dataset), which can be read, written, and found again.
//
//  1. Check refuses a name that is not in the catalogue, and a value that the
//     setting does not accept. It does not look at the machine.
//  2. Host.Place finds what is under a target: its leaf disks, and its dataset if
//     it is on ZFS.
//  3. Host.Plan turns settings into assignments: one for a setting of the node,
//     one for each disk for a setting of devices. It refuses settings that the
//     target does not have.
//  4. Host.Read, Prepare and Write read and write a knob. A value has one
//     canonical form, so that two can be compared: "[none] mq-deadline" is none,
//     and the limit of the ARC is the one in effect, not the one last written.
//  5. Host.Locate finds a knob again after whatever happened to the machine, by
//     what identifies its device or dataset, never by the name alone.
//
// The catalogue is an allow-list. Values reach a file of sysfs or procfs, or an
// argument of zfs, hdparm or nvme; never a shell, and never a path.
//
// The package remembers nothing. Package internal/runner/journal ensures that the
// old value is on disk before a new one is written.
package tunable

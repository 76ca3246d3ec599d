// Package journal sets tunables and puts them back, whatever happens in between.
//
// In: assignments of values to knobs (internal/tunable), and who wants them. Out:
// what each knob had and has, and a report of what was put back. In between there
// is a file on the node, which holds everything that has to be put back.
//
//  1. Open takes the node's journal for this process. What is damaged in it is
//     reported and never used.
//  2. Apply refuses if anything is in the journal: the node is not as it was found.
//     For each knob it reads the old value, writes it into the journal, and only
//     when that is on the disk does it write the new value. It reads back what the
//     kernel made of it, also of the other settings of the same disk, of which the
//     kernel resets some, and writes that into the journal too. If a value is not
//     taken, or a later one undoes it, all is put back and Apply fails.
//  3. Restore goes through the journal from its end. A knob that has its old value
//     is left alone; one that has ours is written and read back; one that has
//     neither was changed by somebody else, who keeps his value, and the entry
//     stays until a person has looked at it. An entry leaves the journal when its
//     knob has been seen to be right, and not before.
//  4. Forget takes what is left off the journal, for when a person has looked.
//
// # Stages
//
// An entry is Planned when its old value is recorded, Applied when it is known what
// the kernel made of the new one, and Restoring when it has been decided what each
// knob is to have. The last is recorded because putting a scheduler back resets
// nr_requests to a value that is neither the old one nor ours: after a crash at that
// moment it would look like somebody else's.
//
// # After a reboot
//
// The boot ID of an entry tells whether the node has been up since. If it has not,
// what does not survive a boot has been put back by it: whatever stands there now
// was put there by the boot, is said, and stays. What survives is restored as ever. A disk is found again by its diskseq within a
// boot and by its WWID, serial number or backing file after one, never by its name.
//
// # The file
//
// It is replaced as a whole: a new file is written, synced, renamed over the old one,
// and the directory synced. Each record has a SHA-256, and the head has one over all
// records, so that a file that is cut or has a bit flipped is known, anywhere. An
// empty journal is no file. A second file is locked for as long as a journal is open.
package journal

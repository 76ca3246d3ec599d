// Package powercut cuts the power of disks that are honest about flushes and of disks that are
// not, and counts which of them package internal/powercut calls liars (build tag powercut; make
// test-powercut).
//
// In: a virtual machine that writes records to its disk (test/powercut/guest, made by
// test/powercut/kernel), and how the disk's volatile cache behaves (test/powercut/nbd). Out: a
// line of the ledger for each cut.
//
//  1. The machine starts, and a witness outside keeps what it says.
//  2. At a random moment after a random number of acknowledged records the disk drops what is in
//     its cache and answers nothing more; then QEMU is killed.
//  3. The records are looked for in the image; if they are in a file of an ext4, by the machine,
//     which is started again and replays the journal.
//  4. An honest disk must have lost none that was acknowledged, whatever else it lost.
//
// The script hack/test-powercut counts.
package powercut

// Package turns keeps tests that disturb a whole cluster away from all others: from those
// of the same program, and from those of another (test/e2e and test/zfs use one cluster
// at the same time).
//
// A test that may run beside others calls WithOthers, one that must not calls Alone; both
// hold their turn until the test's end. Who wants to be alone comes before those who ask
// after it, so it waits only for the tests that run already.
//
// A program that has several to run alone calls AloneFirst before them: tests of other
// programs begin when they are over. Otherwise each would wait for one of those, which may
// take minutes.
package turns

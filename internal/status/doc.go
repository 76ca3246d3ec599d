// Package status writes what is known into a StorageBenchmark's status. It is
// pure: it takes decisions and documents and changes the status that it is given.
//
// Conditions are always set together, so that they cannot contradict each other:
// Underway, Blocked and Finished are the only three states there are.
package status

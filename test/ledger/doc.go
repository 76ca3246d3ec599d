// Package ledger is where tests write down what they did, for a script to count: faults
// (hack/test-faults), attacks and controls (hack/test-attacks), and lies and honest twins
// (hack/test-truth).
//
// In: the environment variable that names the file, a kind and a text. Out: one line with the
// kind, the test and the text, between tabs; without the variable, nothing.
package ledger

// Package steady says whether a rate has become steady. It is pure.
//
// In: the rates of rounds, one after the other. Out: how far the last of them lie apart, how far a
// line through them moves, and whether both are little enough.
//
// The rule is that of SNIA's Performance Test Specification (PTS), which goes on with its rounds until
// the last five are steady. Two ask for it: the runner between the rounds of a precondition, and package verdict of
// the parts of one trial.
package steady

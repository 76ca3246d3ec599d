// Package imports checks who imports whom. What comes in is the list of this
// module's packages as "go list" gives it, and a table with a rule for each; what
// goes out is one line for each import, or use of a clock, that no rule allows.
//
//  1. Every package must have a rule: what is not in the table is denied.
//  2. A direct import must be in its package's rule. Imports of this module's
//     packages are named one by one, others by the path that they begin with.
//  3. A pure package sees only those packages of the standard library that reach
//     nothing outside the process, and of these no function that reads a clock, an
//     unseeded generator or the process's streams: that is found in the syntax.
//  4. A bare package must work on a machine without Kubernetes: nothing of it may
//     be among its dependencies, however far away.
//
// Imports of test files are not checked: a test may use what its package must not.
package imports

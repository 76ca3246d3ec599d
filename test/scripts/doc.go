// Package scripts tests what the scripts in hack/ have in common.
//
// In: a script of a few lines that sources hack/verdict.sh. Out: its last line and its exit
// status.
package scripts

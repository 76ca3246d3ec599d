// Package scripts tests what the scripts in hack/ have in common.
//
// In: a script of a few lines that sources hack/verdict.sh or hack/stages.sh. Out: its last line, its exit
// status, and what it leaves running.
package scripts

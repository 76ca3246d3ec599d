// Package bonnie runs bonnie++, and reads what it and its ancestor bonnie print.
//
// In: the bonnie field of a workload and a target with a file system. Out: a
// result.Measurement for each trial.
//
//  1. decode checks the configuration: what bonnie++ would refuse, and what it would
//     count wrongly, as it does for files of 2 TiB and more.
//  2. Prepare removes what a killed attempt left and chooses the size of a workload
//     that gives none: twice what can be cached, or 80 % of a smaller target. The size
//     is noted, as what is free changes.
//  3. Run executes bonnie++ in a directory of its own and removes it afterwards,
//     whatever happened. bonnie++ leaves its files when it is stopped, and reports some
//     errors of system calls with exit status 0: diagnose reads what it says.
//  4. Parse makes measurements of text: the CSV of bonnie++ in each of its layouts, its
//     tables for people, and those of bonnie. It is pure, and used for the text of other
//     machines as well.
package bonnie

// Package importer makes a run's summary of what benchmarks have printed that somebody
// ran without storagebench: fio, PostMark, bonnie and bonnie++, iozone. It is pure:
// the content of files goes in, a result.Summary comes out.
//
//  1. The tool's parser turns each file into tables: one for each run that the file
//     reports, or for each job of fio. A file of another tool is refused with that
//     tool's name.
//  2. Tables of the same name are repeats of one thing, each a trial: several files of
//     one tool are n = several, and a file that reports runs on several file systems,
//     as PostMark's and bonnie's can, becomes a row for each.
//  3. The trials are folded as those of a worker are, by package stats, so that report
//     and compare take the summary like any other. It says that it was imported:
//     nothing is known of the node, its devices and caches.
//
// Names of metrics are those of storagebench's own engines, so that a summary which
// was imported can be compared with a run.
package importer

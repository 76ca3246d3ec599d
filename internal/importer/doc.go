// Package importer turns the output of benchmarks that somebody ran without
// storagebench into a run's summary: fio, PostMark, bonnie and bonnie++, iozone. It is
// pure: the content of files goes in, a result.Summary comes out.
//
//  1. The tool's parser turns each file into tables: one for each run in the file,
//     or for each fio job. If a file looks like another tool's, the error names
//     that tool.
//  2. Tables of the same name are repeats, and each is a trial. Several files of one
//     tool therefore give several trials. A file with runs on several file systems, as
//     PostMark's and bonnie's can be, becomes a row for each.
//  3. Package stats folds the trials like those of a worker, so that report and
//     compare accept the summary like any other. The summary says that it was
//     imported: the node, its devices and its caches are unknown.
//
// Metrics have the names that storagebench's own engines use, so that an imported
// summary can be compared with a run.
package importer

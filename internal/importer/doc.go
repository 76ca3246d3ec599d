// Package importer turns the output of benchmarks that somebody ran without
// storagebench into a run's summary: fio, PostMark, bonnie and bonnie++, iozone. It is
// pure: the content of files goes in, a result.Summary comes out.
//
//  1. Package printed turns a file's bytes into text. The tool's parser turns the text into
//     tables: one for each run in the file, whose jobs, if it is one of fio, are parts. If a
//     file looks like another tool's, the error names that tool. A table without a rate
//     becomes a note, and a file without any an error.
//  2. Tables of equal name, machine and settings are repeats, and each is a trial; of one
//     file only if the text itself names both, and says nothing in between. Several files of one tool therefore give
//     several trials. All others become rows of their own, named for what distinguishes them.
//  3. Package verdict judges each table from what it tells, and what the user adds.
//  4. Package stats folds the trials like those of a worker, so that report and
//     compare accept the summary like any other. The summary says that it was
//     imported: the node, its devices and its caches are unknown.
//
// Metrics have the names that storagebench's own engines use, so that an imported
// summary can be compared with a run.
package importer

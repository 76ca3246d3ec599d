// Package export writes a run's summary and trials in the formats of other programs: CSV for a
// spreadsheet or a data frame, Markdown for a pull request, JUnit XML for a pipeline, and the
// format of Go's benchmarks for benchstat. Package report writes tables for a terminal, and
// package page the HTML page.
//
// Texts of a run can be a tenant's. Each format has its own way in which a text can be more than a
// text, such as a formula in a spreadsheet or a mention in a pull request, and the writer of the
// format prevents it.
//
// Values are in SI base units where programs read them, and in human units in Markdown. A number
// is never written without what it is worth.
package export

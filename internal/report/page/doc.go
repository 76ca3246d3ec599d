// Package page writes a run's report as one HTML file. What goes in is the run's summary and,
// where there are any, its plan, its trials and its series of samples; what comes out opens in a
// browser from a disk or a bucket and needs nothing else: no network, no other file.
//
// The steps, in the order in which the page shows them:
//
//	answer       what the run says: gates, comparison, what it speaks for
//	verdicts     what numbers are worth, with the evidence
//	results      rows, with their intervals drawn
//	latency      percentiles on an axis to p99.99
//	time         trials, and the device and the workload while they ran
//	comparisons  what each variant changed
//	tunables     before, during and after
//	environment  where it was measured
//	reproduce    the commands
//
// Text and tables are HTML that html/template escapes, so that they are there without scripts
// and for a screen reader. What is drawn is described as JSON (Chart), and page.js draws it with
// uPlot. All texts of a run can be a tenant's: none of them reaches a place where it is more than
// text, and the Content-Security-Policy in the page allows only the scripts and styles that this
// package wrote, by their digests.
//
// Every number stands in a <data> element, whose value is the number itself and whose data-at is
// the JSON pointer of that number in summary.json. make test-report compares them all.
//
// A page is bounded: it leaves out rows, points and metrics beyond a limit, and says how many.
package page

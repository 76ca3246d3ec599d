// Package workers makes, watches and removes the Jobs of workers.
//
// Of finds what is there of a benchmark's workers: Jobs, Pods and claims. Observe turns that
// into what a decision is taken on (progress.Worker); Why says what keeps a Pod from running.
//
// Start makes a worker: it signs the grant, creates the Job suspended, with the digests of
// plan and grant in its arguments, then what the Job owns, and lets it go. All of it happens
// in one pass; what a pass leaves half done is discarded and made again. Park suspends a Job
// whose Pod cannot start, so that others can use the node; Resume lets it go again.
//
// What failed is tried again after a time that grows, which only this process remembers.
package workers

// Package inbox is the store of a run that has no ResultStore: the operator itself receives
// what the run's workers upload, for as long as the run lasts. The run's answer is in its
// status; of the rest, only a short summary stays that later runs can be compared with.
//
// An Inbox is a store.Store and a store.Signer, like a bucket, so that the rest of the operator
// and the worker do not notice the difference. A worker gets forms and URLs that are signed with
// the inbox's own key, each for one object and up to a size.
//
// What comes in, and where it goes:
//
//	plan, summaries of workers, what was accepted    compressed, in memory and in the Backing,
//	                                                 so that a restart of the operator loses none
//	short summaries of runs (baseline.json)          the same, and they stay when their run has
//	                                                 ended: later runs are compared with them
//	documents of trials                              compressed, in memory; the oldest of a
//	                                                 namespace are dropped when it has too many
//	raw output of tools, and samples                 their checksum is verified, nothing is kept
//
// A worker's summary holds its trials, so the documents of trials are needed only while it runs:
// to count them, and to resume after a kill. After a restart of the operator, a worker that is
// killed measures again what it had not yet put into its summary.
//
// Whoever reads the grant of a worker can upload in its place. So everything is bounded, for each
// object, for each namespace, and for all together; a form is checked before its file is read;
// an object is accepted only while its run is there (its plan is); and the Backing is written at
// most once a second for each object. Connections and uploads at a time are shared by address and
// by namespace, as package fair does it. Nobody takes the last quarter of what there is for all: a
// namespace that holds more than an eighth of its own share has to leave that to the others.
package inbox

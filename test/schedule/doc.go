// Package schedule runs a StorageBenchmarkSchedule every minute on a real cluster, and makes the storage
// slower by a tunable on the way: make test-schedule. It takes a quarter of an hour, so CI does not run it.
package schedule

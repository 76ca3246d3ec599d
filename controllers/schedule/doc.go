// Package schedule makes StorageBenchmarks at the times of a StorageBenchmarkSchedule, and keeps the
// history of what they measured. A pass is a list of steps:
//
//	gather      the benchmarks of the schedule
//	record      runs that have ended go into the status ([internal/history])
//	timetable   the times ([internal/schedule]), or what is wrong with the spec
//	start       the run that is due
//	prune       benchmarks over the limits, or over their time to live, are deleted, once the status has them
//
// and at its end summarize writes conditions and status, once, and sends events.
//
// The name of a benchmark is the schedule's and its time in minutes. It is the lock: two operators, or
// one that reads an old status, cannot make two runs of one time.
package schedule

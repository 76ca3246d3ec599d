// Package timetable reads the times of a StorageBenchmarkSchedule from its spec, for the operator and for
// the command line alike. It loads the time zone; package schedule computes the times.
package timetable

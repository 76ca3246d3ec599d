// Package schedule computes the times of a StorageBenchmarkSchedule: which come next, and which were
// missed, as a CronJob counts them. It reads no clock and loads no time zone.
//
// A *time* is what the cron expression gives; the run of that time *starts* later by the jitter,
// which is the same for all times of a schedule. What would start in a quiet window is no time of
// the schedule at all.
//
// Daylight saving: a time that is skipped when clocks go forward has no run on that day. When
// clocks go back, an hour comes twice; a time in it runs once, unless the expression has an
// asterisk for the hour, so that it runs every hour.
package schedule

package fio

import (
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

// special handles options whose values are not rendered as they are: names, targets, and those
// that are done in another way. It reports whether it did.
func (r *reader) special(j *job, o option, section string) bool {
	switch o.name {
	case kbBase:
		r.setBase(j, o)
		return true
	case "filename", "directory", "filename_format":
		if o.value == "" {
			r.problem(&lineError{place: o.place, message: o.name + " has no value", remedy: "remove it"})
			return true
		}
		j.raw(o.name, o)
		return true
	case "name":
		r.rename(j, o, section)
		return true
	case "verify":
		if o.value == "0" || o.value == "none" {
			delete(j.options, "verify")
			return true
		}
	case "wait_for":
		j.raw(o.name, o)
		return true
	case "fill_device", "fill_fs":
		if r.mode == trial.Block && o.value != "0" {
			r.change(o.place, "%s is left out: a device ends where it ends, and fio fills none", written(o))
			return true
		}
	case "atomic":
		if o.value == "1" || !o.hasValue {
			j.options["direct"], j.at["direct"] = "1", o.place
			r.change(o.place, "%s is direct=1: fio 3.33 makes no more of it", written(o))
			return true
		}
	case "create_only":
		if o.value == "1" || !o.hasValue {
			j.raw(o.name, o)
			return true
		}
	case "thread", "threads":
		if o.value == "0" {
			r.change(o.place, "%s is left out: jobs are always threads, as /dev/shm is too small in a Pod for processes", written(o))
		}
	case "mem", "iomem":
		if slices.Contains([]string{"shm", "mmapshared", "shmhuge", "mmaphuge"}, o.value) {
			r.change(o.place, "%s is left out: buffers come from malloc, as huge pages and shared memory are the node's", written(o))
			return true
		}
	case "write_bw_log", "write_lat_log", "write_iops_log":
		j.options[o.name], j.at[o.name] = "1", o.place
		r.change(o.place, "%s: the log is at the end of the trial's raw output", written(o))
		return true
	}
	return o.value == "0" && slices.Contains(offByDefault, o.name)
}

// offByDefault are options that are refused, but mean nothing when they are 0.
var offByDefault = []string{"atomic", "create_only", "verify_only", "fill_device", "fill_fs", "readonly", "cgroup_nodelete"}

// rename takes the name that a job gives itself. fio ignores one in [global].
func (r *reader) rename(j *job, o option, section string) {
	switch {
	case len(r.config.Parameters) > 0:
		r.change(o.place, "%s is left out: the job is named after its workload", written(o))
	case section == global:
		r.change(o.place, "%s of [global] is left out: jobs have the names of their sections", written(o))
	case o.value != "":
		j.name = o.value
	}
}

// raw keeps a value that is decided on when all jobs are known.
func (j *job) raw(name string, o option) {
	j.raws[name] = o
}

// leavesOut are options that are allowed and have no effect here, and why.
func leavesOut() map[string]string {
	const (
		output   = "the trial's document has what was measured in its own form"
		priority = "a worker may not change its priority"
		node     = "it would change the node; what may be changed is set by tunables of a variant"
		memory   = "a worker may not lock or pin memory of the node"
		failure  = "an I/O that fails ends the trial, which is then no measurement"
		hist     = "the trial's document has the histograms"
		replays  = "it is for replays"
	)
	const interval = "a line of a log is an interval of the trial's samples"
	return map[string]string{
		"log_avg_msec": interval, "log_max_value": interval, "log_offset": interval, "log_window_value": interval, "log_issue_time": interval, "log_unix_epoch": "logs have the time of day",
		"output": output, "output-format": output, "unified_rw_reporting": output, "significant_figures": output, "unit_base": output, "disk_util": output,
		"clat_percentiles": output, "lat_percentiles": output, "slat_percentiles": output, "stats": output, "block_error_percentiles": output, "eta": output,
		"eta_newline": output, "minimal": output, "status-interval": output,
		"nice": priority, "prio": priority, "prioclass": priority, "cmdprio_percentage": priority, "cmdprio": priority, "cmdprio_class": priority, "cmdprio_bssplit": priority,
		"ioscheduler": node, "hugepage-size": memory, "lockmem": memory, "numa_cpu_nodes": memory, "numa_mem_policy": memory,
		"cpumask": "use cpus_allowed", "verify_async_cpus": "the threads run on every CPU", "sqthread_poll_cpu": "the kernel's thread runs on any CPU", "gtod_cpu": "no CPU is set aside for the clock",
		"continue_on_error": failure, "ignore_error": failure, "error_dump": failure, "max_latency": "it ends a trial with an error; use a gate on the percentile",
		"rate_min": "it ends a trial with an error; use a gate", "rate_iops_min": "it ends a trial with an error; use a gate", "ratemin": "it ends a trial with an error; use a gate",
		"exitall_on_error": failure, "exit_on_io_done": failure,
		"allow_file_create": "storagebench sets it", "allow_mounted_write": "the target is never a mounted device", "unique_filename": "fio's client and server are not used",
		"write_hist_log": hist, "log_hist_msec": hist, "log_hist_coarseness": hist,
		"write_iolog": "a log of every I/O is not written", "log_compression": "logs are compressed with the raw output", "log_compression_cpus": "logs are compressed with the raw output",
		"log_store_compressed": "logs are compressed with the raw output", "log_entries": "storagebench sets it", "per_job_logs": "each clone has its own log", "log_alternate_epoch": replays,
		"log_alternate_epoch_clock_id": replays, "log_prio": "a worker may not change its priority", "priohint": priority, "job_start_clock_id": output,
		"replay_align": replays, "replay_scale": replays, "replay_skip": replays, "replay_time_scale": replays, "merge_blktrace_scalars": replays, "merge_blktrace_iters": replays,
		"verify_dump": "no files are written outside the target", "verify_state_save": "no files are written outside the target", "verifysort": "fio itself ignores it", "verifysort_nr": "fio itself ignores it", "flow_watermark": "fio itself ignores it",
		"rwmixcycle": "fio itself ignores it", "write_barrier": "fio itself ignores it", "rw_sequential": "fio itself ignores it", "userspace_libaio_reap": "fio itself ignores it", "dedupe_global": "jobs have data of their own",
		"steadystate_check_interval": "fio 3.33 checks every second", "ss_interval": "fio 3.33 checks every second", "bwavgtime": "samples are not read", "iopsavgtime": "samples are not read",
	}
}

// leftOut returns why an option is left out, or "".
func leftOut(o option) string {
	if o.name == "verify_state_load" && o.value == "0" {
		return "that is the default"
	}
	return leavesOut()[o.name]
}

// patternOptions hold data, in which other characters are allowed; see dataPattern.
var patternOptions = []string{"buffer_pattern", "verify_pattern"}

// namesOf splits a value of filename or directory at the colons that are not escaped.
func namesOf(value string) []string {
	var names []string
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '\\' && i+1 < len(value) && (value[i+1] == ':' || value[i+1] == '\\'):
			i++
			b.WriteByte(value[i])
		case value[i] == ':':
			names = append(names, b.String())
			b.Reset()
		default:
			b.WriteByte(value[i])
		}
	}
	return slices.DeleteFunc(append(names, b.String()), func(name string) bool { return name == "" })
}

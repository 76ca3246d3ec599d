package fio

// refusals say why an option that users know is not allowed. The allow-list
// decides; this only makes the message better.
func refusals() map[string]string {
	const (
		programs = "it starts a program"
		files    = "it reads or writes files outside the target"
		node     = "it changes the node, and nobody would change it back"
		output   = "it changes what fio prints, which is read by a program"
		ours     = "storagebench sets it"
		network  = "fio's client and server are not used: a worker runs on each node instead"
	)
	return map[string]string{
		"exec_prerun": programs, "exec_postrun": programs,
		"directory": ours + ": the target is the directory", "opendir": files,
		"filename_format": "it holds expressions that fio expands", "unique_filename": network,
		"include":      files,
		"write_bw_log": files, "write_lat_log": files, "write_iops_log": files, "write_hist_log": files,
		"read_iolog": files, "write_iolog": files, "merge_blktrace_file": files, "replay_redirect": files,
		"verify_dump": files, "verify_state_save": files, "verify_state_load": files, "aux-path": files,
		"buffer_pattern": "it can read files", "verify_pattern": "it can read files",
		"dedupe_mode": "it is not tested with storagebench",
		"ioscheduler": node, "cgroup": node, "cgroup_weight": node, "cgroup_nodelete": node, "lockmem": "it takes memory from the node",
		"allow_mounted_write": "it would overwrite a mounted file system", "readonly": "writing is chosen with rw",
		"uid": "it changes the user", "gid": "it changes the user",
		"nice": "it changes the worker's priority", "prio": "it changes the worker's priority", "prioclass": "it changes the worker's priority",
		"hugepage-size": "huge pages are the node's", "numa_cpu_nodes": "it pins memory of the node", "numa_mem_policy": "it pins memory of the node",
		"output": ours, "output-format": ours, "unified_rw_reporting": output, "percentile_list": output,
		"clat_percentiles": output, "lat_percentiles": output, "slat_percentiles": output, "significant_figures": output,
		"kb_base": "it changes what a k is", "unit_base": output, "disk_util": ours, "stats": "there would be no result",
		"per_job_logs": files, "continue_on_error": "a trial with errors is not a measurement", "ignore_error": "a trial with errors is not a measurement",
		"fill_device": "it fills the volume until an error, which can evict what else runs on the node", "fill_fs": "it fills the volume until an error, which can evict what else runs on the node",
		"wait_for": "order jobs with stonewall", "profile": "write the job's options instead", "name": "the section's name is the job's name",
		"steadystate": "it is not supported yet", "zonemode": "zoned devices are not supported yet", "create_only": "no I/O would be measured", "verify_only": "no I/O would be measured",
		"client": network, "server": network, "remote-config": network, "hostname": network, "port": network,
		"allow_file_create": ours, "max_latency": "it ends the trial with an error; use a gate on the percentile",
	}
}

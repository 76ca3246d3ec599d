package fio

const zoned = "zoned devices are not supported yet"

// refusals say why an option that users know is not allowed. The allow-list
// decides; this only makes the message better.
func refusals() map[string]string {
	const (
		programs = "it starts a program"
		files    = "it reads or writes files outside the target"
		node     = "it changes the node, and nobody would change it back"
		network  = "fio's client and server are not used: a worker runs on each node instead"
		newer    = "it needs a newer fio than the 3.33 of the image"
	)
	return map[string]string{
		"exec_prerun": programs, "exec_postrun": programs, "trigger": programs, "trigger-file": programs, "trigger-remote": programs,
		"opendir": files, "read_iolog": files, "merge_blktrace_file": files, "replay_redirect": files, "read_iolog_chunked": files, "replay_no_stall": files,
		"verify_state_load": files, "aux-path": files,
		"cgroup": node, "cgroup_weight": node, "cgroup_nodelete": node,
		"uid": "it changes the user", "gid": "it changes the user", "readonly": "writing is chosen with rw, and files are written before the first trial",
		"fill_device": "it fills the volume until an error, which can evict what else runs on the node", "fill_fs": "it fills the volume until an error, which can evict what else runs on the node",
		"profile":     "write the job's options instead",
		"thinkcycles": newer, "end_syncfs": newer, "ramp_size": newer, "sprandom": newer, "random_sequence_stride": newer, "verify_write_sequence": newer, "verify_header_seed": newer, "verify_pattern_interval": newer, "libaio_vectored": newer,
		"zonecapacity": zoned, "read_beyond_wp": zoned, "max_open_zones": zoned, "job_max_open_zones": zoned, "ignore_zone_limits": zoned, "zone_reset_threshold": zoned, "zone_reset_frequency": zoned,
		"create_only": "no I/O would be measured", "verify_only": "no I/O would be measured",
		"client": network, "server": network, "remote-config": network, "hostname": network, "port": network, "daemonize": network,
	}
}

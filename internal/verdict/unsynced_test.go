package verdict

import (
	"maps"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// small makes the workload filesync's, of so many files of which so many were synced. The disks wrote
// more than all of them, as a file system that copies may do for itself.
func small(files, synced float64) func(*Facts) {
	return func(f *Facts) {
		maps.DeleteFunc(f.Measurement.Metrics, func(name string, _ result.Metric) bool { return strings.HasPrefix(name, "read.") })
		buffered(f)
		f.Measurement.Operations = []string{"filesync", "open", "write", "close", "unlink"}
		f.Target.FilesystemType = "btrfs"
		f.set("filesync.count", files, "filesync.rate", files/60, result.FilesSynced, synced, "device.read.bytes", 0.0, "device.read.count", 0.0)
		f.set("device.write.bytes", 3*f.value("write.bytes")*f.copies(), "device.drain.bytes", 0.0)
	}
}

var unsyncedPairs = map[string]pair{
	"files that nothing syncs": {
		verdict: FromMemory, operation: "filesync", effect: result.Invalidates, lie: small(5000, 0),
		twins: map[string]func(*Facts){
			"synced":                     small(5000, 5000),
			"a server that does":         both(small(5000, 0), func(f *Facts) { f.Target.FilesystemType = "nfs4" }),
			"a file system that does":    both(small(5000, 0), func(f *Facts) { f.Target.Layers[0].Options = "rw,sync" }),
			"an intent log of each file": both(small(5000, 0), setting("zfs.zil.commits", 5000.0)),
		},
	},
	"files that are removed before they are compressed": {
		verdict: FromMemory, operation: "write", effect: result.Invalidates,
		lie: both(small(5000, 0), options("compress=zstd"), scaling("device.write.bytes", 0.01)),
	},
	"files that are compressed": {
		verdict: DataReduced, operation: "write", effect: result.Invalidates,
		lie: both(small(5000, 5000), options("compress=zstd"), scaling("device.write.bytes", 0.1)),
	},
	"data that repeats itself, beside reads that were compressed": {
		verdict: DataReduced, operation: "write", effect: result.Qualifies,
		lie: both(options("compress-force=lzo"), scaling("device.read.bytes", 0.7), input("buffer_compress_percentage=90")),
	},
}

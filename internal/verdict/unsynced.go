package verdict

import (
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// serverSyncs are file systems whose server decides what is durable when a file is closed.
var serverSyncs = []string{"nfs", "cifs", "smb", "ceph", "fuse"}

// unsynced: filesync made files, synced none, and removed them. How many of their bytes a disk got says
// nothing: a copying file system writes as much for itself.
func unsynced(f *Facts) []result.Verdict {
	ops := f.operations()
	if f.isSync("filesync") || !slices.Contains(ops, "filesync") {
		return nil
	}
	if _, ok := result.InMemory(f.Target.Layers); ok {
		return nil
	}
	if kind := f.Target.FilesystemType; slices.ContainsFunc(serverSyncs, func(s string) bool { return strings.HasPrefix(kind, s) }) {
		return nil
	}
	files := f.value("filesync.count")
	if len(f.Target.Layers) > 0 && f.Target.Layers[0].HasOption("sync") || f.value("zfs.zil.commits") >= files {
		return nil // the file system syncs by itself
	}
	return direction{operations: []string{"filesync", "write"}}.each(result.Verdict{
		Name: FromMemory, Effect: result.Invalidates, Settle: f.howToSync(),
		Sentence: fmt.Sprintf("Nothing was synced: %.0f files were written to memory and removed again, whether a disk got them or not.", files),
		Evidence: evidence(number{"files", result.Count, files}, number{"files.synced", result.Count, 0}),
	})
}

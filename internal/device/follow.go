package device

import (
	"fmt"
	"path/filepath"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// pathLayers returns the layers below a directory or a block device, or none if they cannot
// be seen.
func (s System) pathLayers(path string) []result.Layer {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil
	}
	var layers []result.Layer
	if major, minor, ok := s.node(real); ok {
		layers, _ = s.DeviceLayers(major, minor)
	} else {
		layers, _ = s.Layers(real)
	}
	return layers
}

// DirectBelow returns what becomes, on its way down to the disks, of I/O that passes the page
// cache of the first layer, and why. A loop device reads and writes its file past the page
// cache only if it is told to, and if the file's own file system can. Each member of a mirror
// is judged by itself, and the worst decides.
func DirectBelow(layers []result.Layer) (mode result.DirectMode, why string) {
	if len(layers) == 0 {
		return result.Direct, ""
	}
	f := follower{layers: layers, seen: map[string]bool{}, mode: result.Direct}
	f.visit(layers[0], "")
	return f.mode, f.why
}

// followed returns a function that adds what is below to the evidence of direct I/O.
func followed(layers []result.Layer) func(evidence string) (result.DirectMode, string) {
	mode, why := DirectBelow(layers)
	return func(evidence string) (result.DirectMode, string) {
		if why == "" {
			return mode, evidence
		}
		return mode, evidence + ", but " + why
	}
}

type follower struct {
	layers []result.Layer
	seen   map[string]bool
	mode   result.DirectMode
	why    string
}

// found keeps the worst that was found: cached is worse than unknown.
func (f *follower) found(mode result.DirectMode, format string, args ...any) {
	if f.mode == result.Direct || f.mode == result.DirectUnknown && mode == result.CachedAnyway {
		f.mode, f.why = mode, fmt.Sprintf(format, args...)
	}
}

// visit judges a layer that is below a loop device, or below none ("").
func (f *follower) visit(l result.Layer, loop string) {
	key := l.ID + "\n" + loop
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	switch {
	case l.Kind == result.LoopLayer && l.DirectIO == nil:
		f.found(result.DirectUnknown, "sysfs does not show whether %s uses the page cache for its file", l.ID)
	case l.Kind == result.LoopLayer && !*l.DirectIO:
		f.found(result.CachedAnyway, "%s reads and writes its file %s through the page cache (loop/dio is 0)", l.ID, l.Source)
	case loop == "":
	case l.Type == "memfd" || l.Kind == result.FilesystemLayer && l.InMemory && len(l.Below) == 0:
		f.found(result.CachedAnyway, "the file of %s is in memory (%s)", loop, l.Type)
	case l.Kind == result.FilesystemLayer && (l.Type == "zfs" || strings.HasPrefix(l.Type, "fuse")):
		f.found(result.DirectUnknown, "the file of %s is on %s, which may cache it", loop, l.Type)
	case l.Kind == result.UnknownLayer:
		f.found(result.DirectUnknown, "what holds the file of %s cannot be seen from here", loop)
	}
	if l.Kind == result.LoopLayer {
		loop = l.ID
	}
	for _, below := range result.DataBelow(f.layers, l) {
		f.visit(below, loop)
	}
}

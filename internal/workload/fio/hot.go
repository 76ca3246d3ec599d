package fio

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// setHot records in how many bytes result.HotShare of the jobs' reads lie, and of their writes and trims: where a
// random_distribution prefers some blocks, and on a device, of which a job may use a part. A target of
// any size is a small one if a few of its blocks have nearly all.
func setHot(jobs []job, mode trial.Mode, metrics result.Metrics) {
	for _, op := range operations {
		if bytes := hotBytes(jobs, op, mode == trial.Block); bytes > 0 {
			metrics.Set(op+result.Hot, result.Bytes, bytes)
		}
	}
}

// hotBytes are those of an operation, or 0 if nothing need be said of it, or nothing can.
func hotBytes(jobs []job, op string, device bool) (sum float64) {
	small := device
	for _, j := range jobs {
		if op == "read" && !j.reads() || op == "write" && j.writeShare() == 0 || op == "trim" && !strings.Contains(j.pattern(), "trim") {
			continue
		}
		all, known := j.used()
		if !known {
			return 0
		}
		if j.skewed() {
			small = true
			files := float64(max(1, j.files()))
			all = files * hot(j.options["random_distribution"], all/files, float64(j.leastBlock()))
		}
		sum += float64(j.clones()) * all
	}
	if !small {
		return 0
	}
	return sum
}

// setPreRead records how many bytes the jobs read before they are measured, if all of those that do say how many.
func setPreRead(jobs []job, metrics result.Metrics) {
	sum := 0.0
	for _, j := range jobs {
		if !j.on("pre_read") || !j.reads() {
			continue
		}
		all, known := j.used()
		if !known {
			return
		}
		sum += float64(j.clones()) * all
	}
	if sum > 0 {
		metrics.Set(result.PreReadBytes, result.Bytes, sum)
	}
}

// used is on how many bytes a clone works, if the job says so.
func (j job) used() (bytes float64, known bool) {
	if !j.sized() || strings.HasSuffix(j.options["size"], "%") && j.fileSize() == 0 {
		return 0, false
	}
	return float64(j.extent(0)), true
}

// skewed reports whether the job does more I/Os to some blocks than to others, in no order.
func (j job) skewed() bool {
	kind, _, _ := strings.Cut(j.options["random_distribution"], ":")
	if !slices.Contains([]string{"zipf", "pareto", "zoned", "zoned_abs"}, kind) {
		return false
	}
	inOrder := strings.Contains(j.options["rw"], ":") || j.has("percentage_random") || j.has("zonemode")
	return strings.HasPrefix(j.pattern(), "rand") && !inOrder
}

// hot is in how many bytes of a file result.HotShare of the I/Os lie, by fio's distributions. Its normal
// one is no bell (of 60,000 I/Os with normal:1, nine tenths lie in a quarter of the file), and counts as flat.
func hot(distribution string, file, block float64) float64 {
	kind, parameters, _ := strings.Cut(distribution, ":")
	first, _, _ := strings.Cut(parameters, ":")
	p, err := strconv.ParseFloat(first, 64)
	switch kind {
	case "zoned", "zoned_abs":
		return min(file, hotZones(parameters, file, kind == "zoned_abs"))
	case "zipf":
		if err != nil { // fio's default
			p = 1.1
		}
		return min(file, block*zipfRank(p, math.Floor(file/block)))
	case "pareto":
		if err != nil { // fio's default
			p = 0.2
		}
		// A share h of the blocks has 1-h of the I/Os, and so on within that share.
		return max(block, file*math.Pow(result.HotShare, math.Log(p)/math.Log1p(-p)))
	}
	return file
}

// zipfRank is how many of n blocks have result.HotShare of the I/Os, if the i-th has a share in
// proportion to i to the power of -theta.
func zipfRank(theta, n float64) float64 {
	const exact = 1000                   // blocks that are added up; the others are integrated
	rest := func(from float64) float64 { // from there to n
		if from >= n {
			return 0
		}
		if theta == 1 {
			return math.Log(n / from)
		}
		return (math.Pow(n, 1-theta) - math.Pow(from, 1-theta)) / (1 - theta)
	}
	most := math.Min(n, exact)
	head := 0.0
	for i := 1.0; i <= most; i++ {
		head += math.Pow(i, -theta)
	}
	want := result.HotShare * (head + rest(most))
	sum := 0.0
	for i := 1.0; i <= most; i++ {
		if sum += math.Pow(i, -theta); sum >= want {
			return i
		}
	}
	low, high := most, n
	for range 60 {
		if middle := (low + high) / 2; head+rest(most)-rest(middle) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// hotZones takes the zones that have the most I/Os for their size, until these have result.HotShare of
// all. What is left of I/Os and of the file goes to the zones that name none, in equal parts.
func hotZones(text string, file float64, absolute bool) float64 {
	type zone struct{ share, size float64 }
	var zones []zone
	shares, sizes := 1.0, file
	var noShare, noSize float64
	for field := range strings.SplitSeq(text, ":") {
		share, size, _ := strings.Cut(field, "/")
		z := zone{-1, -1}
		if share == "" {
			noShare++
		} else {
			z.share = float64(number(share)) / 100
			shares -= z.share
		}
		switch {
		case size == "":
			noSize++
		case absolute:
			z.size = float64(number(size))
			sizes -= z.size
		default:
			z.size = file * float64(number(size)) / 100
			sizes -= z.size
		}
		zones = append(zones, z)
	}
	for i := range zones {
		if zones[i].share < 0 {
			zones[i].share = max(0, shares) / noShare
		}
		if zones[i].size < 0 {
			zones[i].size = max(0, sizes) / noSize
		}
	}
	slices.SortFunc(zones, func(a, b zone) int { return cmp.Compare(b.share*a.size, a.share*b.size) })
	left, bytes := result.HotShare, 0.0
	for _, z := range zones {
		if z.share >= left {
			return bytes + z.size*left/z.share
		}
		left, bytes = left-z.share, bytes+z.size
	}
	return file
}

package inbox

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"storagebench.io/storagebench/internal/store"
)

// Bounds, in compressed bytes. A ConfigMap holds 1 MiB.
const (
	// MaxObject is for one object.
	MaxObject = 512 << 10
	// maxKept and maxKeptEach are for what is in the Backing, of all namespaces and of each.
	maxKept, maxKeptEach = 32 << 20, 8 << 20
	// maxTrials and maxTrialsEach are for the documents of trials, which are in memory only.
	maxTrials, maxTrialsEach = 24 << 20, 6 << 20
	// maxObjects and maxObjectsEach are for the number of objects.
	maxObjects, maxObjectsEach = 40_000, 10_000
	// maxBacked and maxBackedEach are for the number of objects in the Backing.
	maxBacked, maxBackedEach = 2_000, 500
	// MaxBaseline is for one summary that later runs are compared with, the others for all of
	// them. They stay as long as their benchmark, so that they have room of their own: what
	// stays must not keep runs from beginning.
	MaxBaseline                       = 64 << 10
	maxBaselineBytes, maxBaselineEach = 16 << 20, 2 << 20
	maxBaselines, maxBaselinesEach    = 1_000, 200
	// A namespace that holds more than this part of its share has no claim to the last quarter of
	// what there is for all: whoever fills several namespaces leaves that to the others.
	modest = 8
)

// usage is what is held.
type usage struct{ bytes, number int }

// used returns what is held of a class, by all namespaces and by one.
func (in *Inbox) used(namespace string, of class) (all, own usage) {
	for key, o := range in.objects {
		if classOf(key) != of {
			continue
		}
		all.bytes, all.number = all.bytes+len(o.body), all.number+1
		if namespaceOf(key) == namespace {
			own.bytes, own.number = own.bytes+len(o.body), own.number+1
		}
	}
	return all, own
}

// share is what there is of a class for all namespaces, and for each.
type share struct{ all, each usage }

// shareOf returns the share that an object counts in. A plan may fill half of it: runs that have begun
// can then end.
func shareOf(key string) share {
	switch classOf(key) {
	case baselineOf:
		return share{usage{maxBaselineBytes, maxBaselines}, usage{maxBaselineEach, maxBaselinesEach}}
	case trialOf:
		// Bytes are made free, the oldest first.
		return share{usage{math.MaxInt, maxObjects}, usage{math.MaxInt, maxObjectsEach}}
	case kept, unkept:
	}
	part := 1
	if isPlan(key) {
		part = 2
	}
	return share{usage{maxKept / part, maxBacked / part}, usage{maxKeptEach / part, maxBackedEach / part}}
}

// fits reports whether a namespace may hold so much, of so much in all.
func (s share) fits(all, own usage) bool {
	if own.bytes > s.each.bytes/modest || own.number > max(s.each.number/modest, 1) {
		s.all.bytes, s.all.number = s.all.bytes/4*3, s.all.number/4*3
	}
	return all.bytes <= s.all.bytes && own.bytes <= s.each.bytes && all.number <= s.all.number && own.number <= s.each.number
}

// room makes room for an object, or says that there is none.
func (in *Inbox) room(key string, size int) error {
	namespace := namespaceOf(key)
	if isBaseline(key) && size > MaxBaseline {
		return fmt.Errorf("%w: compressed, it has %d bytes, and the limit for a baseline is %d", store.ErrTooLarge, size, MaxBaseline)
	}
	all, own := in.used(namespace, classOf(key))
	for _, u := range []*usage{&all, &own} {
		if old := in.objects[key]; old != nil {
			u.bytes, u.number = u.bytes-len(old.body), u.number-1
		}
		u.bytes, u.number = u.bytes+size, u.number+1
	}
	if !shareOf(key).fits(all, own) {
		return ErrFull
	}
	if classOf(key) != trialOf {
		return nil
	}
	if need := own.bytes - maxTrialsEach; need > 0 {
		all.bytes -= in.dropOldest(namespace, need)
	}
	for all.bytes > maxTrials {
		freed := in.dropOldest(in.largest(), all.bytes-maxTrials)
		if freed == 0 {
			return ErrFull // cannot happen: a namespace has less than there is
		}
		all.bytes -= freed
	}
	return nil
}

// largest returns the namespace with the most bytes of trials.
func (in *Inbox) largest() (namespace string) {
	of := map[string]int{}
	for key, o := range in.objects {
		if classOf(key) == trialOf {
			of[namespaceOf(key)] += len(o.body)
		}
	}
	for name, bytes := range of {
		if namespace == "" || bytes > of[namespace] || bytes == of[namespace] && name < namespace {
			namespace = name
		}
	}
	return namespace
}

// dropOldest drops the bodies of objects that are in memory only, of a namespace, the oldest first, until need bytes are free. It returns how many are.
func (in *Inbox) dropOldest(namespace string, need int) (freed int) {
	var all []*object
	for key, o := range in.objects {
		if !o.backed && o.body != nil && namespaceOf(key) == namespace {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *object) int { return cmp.Compare(a.number, b.number) })
	for _, o := range all {
		if freed >= need {
			break
		}
		freed, o.body = freed+len(o.body), nil
	}
	return freed
}

package result

import "fmt"

// SizeChoice is the size of a workload that gives none.
type SizeChoice struct {
	// Bytes of each of Parts, such as the clones of a job.
	Bytes uint64 `json:"bytes"`
	Parts uint64 `json:"parts"`
	// CacheBytes is what the caches in the path can hold; 0: none is known.
	CacheBytes uint64 `json:"cacheBytes,omitempty"`
	// TooSmall reports that all parts together are less than twice that.
	TooSmall bool   `json:"tooSmall,omitempty"`
	Why      string `json:"why"`
}

func (s *SizeChoice) check() error {
	if s != nil && len(s.Why) > maxLine {
		return fmt.Errorf("the reason for its size has %d bytes, the limit is %d", len(s.Why), maxLine)
	}
	return nil
}

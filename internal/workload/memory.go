package workload

import (
	"fmt"
	"math/bits"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// MaxMemory is how much the programs and threads of a workload usually may allocate together. A
// worker's memory limit is 2Gi by default. The other half is for the worker itself and for
// the page cache of the target, which the kernel counts as the worker's.
// Where an Allocator needs more, the limit is raised by what is above, up to what the operator
// allows.
const MaxMemory = 1 << 30

// CheckMemory refuses a workload that may allocate more than a limit. what names what needs
// the memory, with the values; field is relative to the workload.
func CheckMemory(field string, need, limit uint64, what, remedy string) error {
	if need <= limit {
		return nil
	}
	return &trial.Failure{
		Class: reason.LimitExceeded, Field: field,
		Message: fmt.Sprintf("%s may allocate %s of memory, more than the limit of %s", what, Human(need), Human(limit)),
		Remedy:  remedy,
	}
}

// Product multiplies numbers. It returns the largest uint64 if the product is larger.
func Product(factors ...uint64) uint64 {
	product := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(product, f)
		if high > 0 {
			low = ^uint64(0)
		}
		product = low
	}
	return product
}

// Sum adds numbers. It returns the largest uint64 if the sum is larger.
func Sum(terms ...uint64) uint64 {
	sum := uint64(0)
	for _, t := range terms {
		low, carry := bits.Add64(sum, t, 0)
		if carry > 0 {
			return ^uint64(0)
		}
		sum = low
	}
	return sum
}

package workload

import (
	"math"
	"testing"
)

func TestArithmeticOfMemoryDoesNotWrap(t *testing.T) {
	if got := Product(1<<40, 1<<40, 2); got != math.MaxUint64 {
		t.Errorf("Product is %d", got)
	}
	if got := Sum(math.MaxUint64, 1, 1); got != math.MaxUint64 {
		t.Errorf("Sum is %d", got)
	}
	if CheckMemory("f", MaxMemory, MaxMemory, "it", "") != nil || CheckMemory("f", MaxMemory+1, MaxMemory, "it", "lower it") == nil {
		t.Error("the limit is not at MaxMemory")
	}
}

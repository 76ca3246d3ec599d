package fio

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) {
	defaultstest.Check(t, "fio", map[string]any{"parameters": map[string]string{"rw": "read"}}, decode)
}

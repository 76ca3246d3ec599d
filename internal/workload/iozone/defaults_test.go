package iozone

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) { defaultstest.Check(t, "iozone", nil, decode) }

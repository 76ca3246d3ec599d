package bandwidth

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) { defaultstest.Check(t, "bandwidth", nil, decode) }

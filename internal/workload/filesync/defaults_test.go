package filesync

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) { defaultstest.Check(t, "filesync", nil, decode) }

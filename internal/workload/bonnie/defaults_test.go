package bonnie

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) { defaultstest.Check(t, "bonnie", nil, decode) }

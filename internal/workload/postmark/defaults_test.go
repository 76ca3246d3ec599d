package postmark

import (
	"testing"

	"storagebench.io/storagebench/internal/workload/defaultstest"
)

func TestTheDefaultsAreTheAPIs(t *testing.T) { defaultstest.Check(t, "postmark", nil, decode) }

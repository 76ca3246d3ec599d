package iozone

import (
	"encoding/json"
	"errors"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestOffsetsOfRandomTestsThatFillMemoryAreRefused(t *testing.T) {
	for config, refused := range map[string]bool{
		`{}`: false,
		`{"fileSizes":["1Ti"],"recordSizes":["1Ki"]}`:                          true,
		`{"fileSizes":["64Mi","1Ti"],"recordSizes":["1Mi","4Ki"]}`:             true,
		`{"fileSizes":["1Ti"],"recordSizes":["1Ki"],"tests":["RandomWrite"]}`:  true,
		`{"fileSizes":["1Ti"],"recordSizes":["1Ki"],"tests":["Write","Read"]}`: false,
		`{"fileSizes":["1Ti"],"recordSizes":["64Ki"]}`:                         false,
	} {
		err := Engine{}.Check(json.RawMessage(config), trial.Filesystem)
		f, ok := errors.AsType[*trial.Failure](err)
		if ok != refused || ok && (f.Class != reason.LimitExceeded || f.Field != "iozone.recordSizes") {
			t.Errorf("%s: got %v", config, err)
		}
	}
}

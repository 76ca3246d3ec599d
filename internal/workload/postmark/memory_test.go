package postmark

import (
	"encoding/json"
	"errors"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestTablesAndBlocksThatFillMemoryAreRefused(t *testing.T) {
	for config, refused := range map[string]bool{
		`{}`:                                      false,
		`{"files":5000000,"subdirectories":100}`:  false,
		`{"files":60000000}`:                      false,
		`{"files":100000000}`:                     true,
		`{"files":60000000,"subdirectories":10}`:  true,
		`{"files":50000000,"threads":256}`:        true,
		`{"files":100000000,"mode":"Compatible"}`: true,
	} {
		err := Engine{}.Check(json.RawMessage(config), trial.Filesystem)
		f, ok := errors.AsType[*trial.Failure](err)
		if ok != refused || ok && (f.Class != reason.LimitExceeded || f.Field != "postmark.files") {
			t.Errorf("%s: got %v", config, err)
		}
	}
}

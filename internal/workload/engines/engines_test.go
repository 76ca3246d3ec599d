package engines

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

func TestEveryEngineIsFoundByItsName(t *testing.T) {
	all := All()
	for name, e := range all {
		if e.Name() != name {
			t.Errorf("%s is registered as %s", e.Name(), name)
		}
	}
	config := json.RawMessage(`{"parameters":{"rw":"read"}}`)
	if err := all.Check("fio", config, trial.Filesystem); err != nil {
		t.Error(err)
	}
	if err := all.Check("fio", json.RawMessage(`{}`), trial.Filesystem); err == nil {
		t.Error("an empty configuration was accepted")
	}
}

func TestAnUnknownEngineIsABadSpec(t *testing.T) {
	f, ok := errors.AsType[*trial.Failure](All().Check("dbench", nil, trial.Block))
	if !ok || f.Class != reason.InvalidSpec || !strings.Contains(f.Message, "dbench") || !strings.Contains(f.Remedy, "fio") {
		t.Errorf("got %+v", f)
	}
}

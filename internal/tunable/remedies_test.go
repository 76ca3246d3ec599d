package tunable

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// Every tunable that refuses a value says which field, which value, and what to write.
func TestEveryRefusedValueHasFieldValueAndRemedy(t *testing.T) {
	refused := map[string]bool{}
	for _, tunable := range Catalogue() {
		for _, value := range []string{"no-such-value", "-1", "3.5", "99999999999999999999", "12B"} {
			err := Rules{}.Check(tunable.Name, value)
			if err == nil {
				continue
			}
			refused[tunable.Name] = true
			f := trial.AsFailure(err)
			if f.Field != "value" || !strings.Contains(f.Message, tunable.Name) || !strings.Contains(f.Message, value) {
				t.Errorf("%s=%s: %q at %q", tunable.Name, value, f.Message, f.Field)
			}
			if !strings.HasPrefix(f.Remedy, "use ") && !strings.HasPrefix(f.Remedy, "did you mean ") {
				t.Errorf("%s=%s: the remedy is %q", tunable.Name, value, f.Remedy)
			}
		}
		if !refused[tunable.Name] {
			t.Errorf("%s takes anything", tunable.Name)
		}
	}
}

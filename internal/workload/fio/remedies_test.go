package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// Every option that takes words suggests the one that was meant, and names none of them
// in the message as well.
func TestAMisspeltValueOfAnyOptionIsSuggestedAndTheChoicesAreListedOnce(t *testing.T) {
	tried := 0
	for name, o := range newCatalogue() {
		_, err := o.syntax.check("!")
		choice, ok := err.(*choiceError) //nolint:errorlint // it is never wrapped
		if !ok || o.mode == trial.Block {
			continue
		}
		tried++
		meant := choice.choices[len(choice.choices)-1]
		f := failure(t, check(t, config{Parameters: map[string]string{"rw": "read", name: meant + "x"}, Prefill: prefillAuto}, trial.Filesystem))
		if f.Field != "fio.parameters."+name {
			t.Errorf("%s: the field is %s", name, f.Field)
		}
		if !strings.Contains(f.Remedy, "did you mean ") {
			t.Errorf("%s=%sx: the remedy %q suggests nothing", name, meant, f.Remedy)
		}
		if listed := strings.Count(f.Error(), strings.Join(choice.choices, ", ")); len(choice.choices) > 1 && listed > 1 {
			t.Errorf("%s: the choices stand %d times in %q", name, listed, f.Error())
		}
	}
	if tried < 8 {
		t.Errorf("only %d options take words", tried)
	}
}

// Every option that refuses a value says which, why, and what to write.
func TestEveryOptionThatRefusesNamesFieldValueAndRemedy(t *testing.T) {
	for name, o := range newCatalogue() {
		for _, value := range []string{"-", "99999999999999999999", "no-such-value"} {
			if _, err := o.syntax.check(value); err == nil {
				continue
			}
			err := newCatalogue().apply(map[string]string{}, option{name: name, value: value, hasValue: true}, o.mode)
			e, ok := err.(*lineError) //nolint:errorlint // it is never wrapped
			if !ok {
				t.Errorf("%s=%s: %v", name, value, err)
				continue
			}
			if !strings.Contains(e.Error(), name) || e.remedy == "" {
				t.Errorf("%s=%s: message %q, remedy %q", name, value, e.Error(), e.remedy)
			}
		}
	}
}

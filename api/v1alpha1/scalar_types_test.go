package v1alpha1

import (
	"encoding/json"
	"testing"
)

func TestAScalarIsTheSameWithAndWithoutQuotes(t *testing.T) {
	for text, want := range map[string]string{
		`16`:                    "16",
		`"16"`:                  "16",
		`-1`:                    "-1",
		`"4k"`:                  "4k",
		`""`:                    "",
		`99999999999`:           "99999999999",         // does not fit into 32 bits
		`9223372036854775808`:   "9223372036854775808", // nor into 64
		`1e21`:                  "1e21",                // what the API server makes of a larger one
		`"write \"back\""`:      `write "back"`,        // escapes
		`"007"`:                 "007",                 // as it was written
		`"9223372036854775808"`: "9223372036854775808", // a string of digits
		`"\u0031"`:              "1",                   // any spelling of JSON
		`null`:                  "",                    // as with every Go string
	} {
		var got Scalar
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
		encoded, err := json.Marshal(map[string]Scalar{"k": got})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(encoded, &back); err != nil || back["k"] != got.String() {
			t.Errorf("%s is written as %s, want the string %q", text, encoded, got)
		}
	}
}

func TestAScalarIsNeitherAListNorABoolean(t *testing.T) {
	for _, text := range []string{`true`, `[]`, `{}`, `[1]`} {
		var got Scalar
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s was read as %q", text, got)
		}
	}
}

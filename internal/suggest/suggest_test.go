package suggest

import "testing"

func TestNearest(t *testing.T) {
	candidates := []string{"bs", "bssplit", "iodepth", "ioengine", "rw", "runtime"}
	for name, want := range map[string]string{
		"iodeph":     "iodepth",
		"IOEngine":   "ioengine",
		"b":          "bs",
		"run_time":   "runtime",
		"wr":         "rw",
		"exec":       "",
		"":           "",
		"wholething": "",
	} {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestTheRemedyNamesTheChoicesOnce(t *testing.T) {
	long := []string{"aaaa1", "bbbb2", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}
	for name, c := range map[string]struct {
		given   string
		choices []string
		want    string
	}{
		"a misspelling":                  {"randraed", []string{"read", "randread"}, "did you mean randread? Choices: read, randread"},
		"a misspelling of one of many":   {"bbbb", long, "did you mean bbbb2?"},
		"nothing like it":                {"sideways", []string{"read", "randread"}, "use one of read, randread"},
		"nothing at all":                 {"", []string{"read", "randread"}, "use one of read, randread"},
		"the only choice, misspelt":      {"tabel", []string{"table"}, "did you mean table?"},
		"the only choice, nothing alike": {"json", []string{"table"}, "use table"},
	} {
		if got := Remedy(c.given, c.choices); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCountsAgreeWithTheirNouns(t *testing.T) {
	for want, c := range map[string]struct {
		n    int
		noun string
	}{
		"1 trial":          {1, "trial"},
		"0 trials":         {0, "trial"},
		"2 trials":         {2, "trial"},
		"-1 trials":        {-1, "trial"},
		"1 directory":      {1, "directory"},
		"3 directories":    {3, "directory"},
		"2 days":           {2, "day"},
		"2 StorageClasses": {2, "StorageClass"},
		"2 passes":         {2, "pass"},
		"2 matches":        {2, "match"},
	} {
		if got := Count(c.n, c.noun); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Count(uint64(1)<<63, "byte"); got != "9223372036854775808 bytes" {
		t.Errorf("got %q", got)
	}
}

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

package verdict

import (
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// postmark is a trial on a disk, whose reads all came from memory, as PostMark's do. Of what was written, the
// disk has seen that share.
func postmark(written, readTook, writeTook float64) Facts {
	m := result.Metrics{}
	m.Set("read.bytes", result.Bytes, 64<<20)
	m.Set("write.bytes", result.Bytes, 64<<20)
	m.Set("device.read.bytes", result.Bytes, 0)
	m.Set("device.write.bytes", result.Bytes, written*(64<<20))
	for op, took := range map[string]float64{"create": writeTook, "read": readTook, "append": writeTook, "delete": 1} {
		m.Set(op+".count", result.Count, 1000)
		if took > 0 {
			m.Set(op+".latency.mean", result.Seconds, took)
		}
	}
	return Facts{Measurement: result.Measurement{
		Operations: []string{"transactions", "create", "read", "append", "delete"}, Metrics: m,
	}}
}

func TestAWholeIsWorthWhatItsPartsAre(t *testing.T) {
	for name, c := range map[string]struct {
		facts Facts
		want  result.Effect // of FromMemory on transactions
	}{
		"all in memory":                              {postmark(0, 1e-5, 1e-5), result.Invalidates},
		"a third of what was written in memory":      {postmark(0.7, 1e-5, 1e-4), result.Qualifies},
		"written to the disk, which takes the time":  {postmark(1, 1e-5, 1e-3), ""},
		"written to the disk in half of the time":    {postmark(1, 1e-4, 5e-5), result.Invalidates},
		"written to the disk, and reads take a part": {postmark(1, 1e-4, 2e-4), result.Qualifies},
		"all in memory, and no times":                {postmark(0, 0, 0), result.Invalidates},
		"reads in memory, and no times":              {postmark(1, 0, 0), result.Qualifies},
	} {
		var got result.Effect
		for _, v := range Judge(c.facts) {
			if v.Name == FromMemory && v.Operation == "transactions" {
				got = v.Effect
			}
			if v.Name == FromMemory && v.Operation == "delete" {
				t.Errorf("%s: a deletion moves no data: %+v", name, v)
			}
		}
		if got != c.want {
			t.Errorf("%s: the verdict on transactions is %q, want %q", name, got, c.want)
		}
	}
}

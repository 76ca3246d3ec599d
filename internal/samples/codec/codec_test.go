package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"storagebench.io/storagebench/internal/samples"
)

// table returns one with so many rows, of which some cells are absent.
func table(rows int) *samples.Table {
	r := rand.New(rand.NewPCG(1, uint64(rows)))
	t := &samples.Table{}
	start := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for i := range rows {
		scope := samples.Scopes[i%3]
		row := t.Add(start.Add(time.Duration(i/3)*time.Second), scope, []string{"sda", "read", ""}[i%3])
		for c := range samples.Columns {
			about := &samples.Columns[c]
			switch {
			case about.Scope != scope && about.Scope != "" || r.IntN(5) == 0:
			case about.Integer:
				t.Set(row, samples.Column(c), float64(r.IntN(1<<40)>>r.IntN(41)))
			default:
				t.Set(row, samples.Column(c), float64(r.IntN(100))/8)
			}
		}
	}
	return t
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	for _, rows := range []int{0, 1, 7, 8, 9, 3000, 40000} {
		want := table(rows)
		body, err := Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(body)
		if err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d rows: %s", rows, diff)
		}
	}
}

// Another reader finds the same: the library's own, which checks nothing.
func TestOthersReadWhatIsEncoded(t *testing.T) {
	want := table(300)
	body, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]parquet.Row, 301)
	n, _ := f.RowGroups()[0].Rows().ReadRows(rows)
	if n != 300 {
		t.Fatalf("%d rows", n)
	}
	index := columns()
	for j, path := range f.Schema().Columns() {
		c, number := index[path[0]]
		for i, row := range rows[:n] {
			switch v := row[j]; {
			case path[0] == atColumn && v.Int64() != want.At[i].UnixMicro(),
				path[0] == scopeColumn && v.String() != string(want.Scope[i]),
				path[0] == nameColumn && v.String() != want.Name[i],
				number && v.IsNull() != math.IsNaN(want.Values[c][i]),
				number && !v.IsNull() && samples.Columns[c].Integer && float64(v.Int64()) != want.Values[c][i],
				number && !v.IsNull() && !samples.Columns[c].Integer && v.Double() != want.Values[c][i]:
				t.Errorf("row %d has %s = %v", i, path[0], v)
			}
		}
	}
}

func TestTooManyRowsAreNotEncoded(t *testing.T) {
	big := &samples.Table{At: make([]time.Time, samples.MaxRows+1)}
	if _, err := Encode(big); err == nil {
		t.Error("they were")
	}
}

// foreign is a Parquet file that somebody else wrote.
func foreign(t *testing.T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, []struct{ A string }{{"a"}, {"b"}}, options...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsNotOursIsRefused(t *testing.T) {
	good, err := Encode(table(90))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(good)) }
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":                {nil, "no Parquet file"},
		"no magic at the end":    {good[:len(good)-1], "no Parquet file"},
		"no magic at the start":  {change(func(b []byte) []byte { b[0] = 'X'; return b }), "no Parquet file"},
		"another schema":         {foreign(t), `there is no column "A"`},
		"a footer out of bounds": {change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[len(b)-8:], uint32(len(b))); return b }), "its metadata has"},
		"a footer of a gigabyte": {change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[len(b)-8:], 1<<30); return b }), "its metadata has"},
		"a footer of one byte":   {change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[len(b)-8:], 1); return b }), "missing required field"},
		"too large":              {append(bytes.Repeat([]byte(magic), maxFile/4), magic...), "the limit is"},
		"its data are gone": {change(func(b []byte) []byte {
			n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
			return append([]byte(magic), b[len(b)-8-n:]...)
		}), "outside the file"},
		"its data are zeros": {change(func(b []byte) []byte {
			n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
			clear(b[4 : len(b)-8-n])
			return b
		}), "missing required field"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(c.body); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Metadata that claims to be large costs nothing.
func TestAStructureIsWalkedInBounds(t *testing.T) {
	deep := append(bytes.Repeat([]byte{0x1c}, 100), make([]byte, 101)...)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":                     {nil, "damaged"},
		"nested":                    {deep, "nested too deeply"},
		"lists in lists":            {append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 100)...), "nested too deeply"},
		"a list that does not fit":  {[]byte{0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, "does not fit"},
		"a text that does not fit":  {[]byte{0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, "damaged"},
		"many values":               {append([]byte{0x19, 0xf3, 0xff, 0xff, 0x07}, make([]byte, 1<<17)...), "more than"},
		"a map":                     {[]byte{0x1b, 0, 0}, "damaged"},
		"a number that is cut":      {[]byte{0x15, 0x80}, "damaged"},
		"a double that is cut":      {[]byte{0x17, 0, 0}, "damaged"},
		"a field that is cut":       {[]byte{0x05}, "damaged"},
		"a list without its length": {[]byte{0x19}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := walk(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if n, err := walk([]byte{0x15, 2, 0x11, 0x00, 9, 9}); err != nil || n != 4 {
		t.Errorf("a good one has %d bytes, %v", n, err)
	}
}

// Whatever somebody puts into the store, it is read in bounds, and what is read can be written.
func FuzzDecode(f *testing.F) {
	for _, rows := range []int{0, 1, 40} {
		body, err := Encode(table(rows))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
		f.Add(body[:len(body)/2])
	}
	f.Add([]byte(magic + strings.Repeat("\x00", 8) + magic))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := Decode(body)
		if err != nil {
			return
		}
		if got.Len() > samples.MaxRows || len(got.Scope) != got.Len() || len(got.Name) != got.Len() {
			t.Fatalf("%d rows, %d scopes, %d names", got.Len(), len(got.Scope), len(got.Name))
		}
		if _, err := Encode(got); err != nil {
			t.Fatal(err)
		}
	})
}

// A page that somebody has changed is refused, or what is read is still a table.
func TestEveryByteMayBeWrong(t *testing.T) {
	good, err := Encode(table(12))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= []byte{1, 0x80, 0xff}[i%3]
		got, err := Decode(bad)
		if err != nil {
			refused++
			continue
		}
		if got.Len() != 12 {
			t.Fatalf("byte %d: %d rows", i, got.Len())
		}
	}
	if refused == 0 {
		t.Error("none was refused")
	}
}

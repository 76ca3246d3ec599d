package samples

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each column is in the reference, as it is described here.
func TestColumnsAreDocumented(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/samples.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range Columns {
		scope, kind := string(c.Scope), "DOUBLE"
		if scope == "" {
			scope = "all"
		}
		if c.Integer {
			kind = "INT64"
		}
		line := fmt.Sprintf("| %#q | %s | %s | %s |\n", c.Name, scope, kind, c.Meaning)
		if c.Name == "" || seen[c.Name] || !strings.Contains(string(reference), line) {
			t.Errorf("docs/reference/samples.md lacks %s", line)
		}
		seen[c.Name] = true
	}
}

func TestATableIsSelectedFrom(t *testing.T) {
	table := &Table{}
	now := time.Unix(1, 0)
	for _, name := range []string{"sdb", "sda", "sdb"} {
		table.Set(table.Add(now, Disk, name), ReadCount, 1)
	}
	table.Add(now, Machine, "")
	if got := table.Select(Disk, "sdb"); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("rows %v", got)
	}
	if got := table.Names(Disk); !slices.Equal(got, []string{"sdb", "sda"}) {
		t.Errorf("names %v", got)
	}
	late := func(row int) bool { return row > 0 }
	if all, some := table.Sum(Disk, "sdb", ReadCount, nil), table.Sum(Disk, "sda", ReadCount, late); all != 2 || some != 1 {
		t.Errorf("sums of %g and %g", all, some)
	}
	if none, lacks := table.Sum(Disk, "sdc", ReadCount, nil), table.Sum(Disk, "sdb", WriteCount, nil); none != 0 || !math.IsNaN(lacks) {
		t.Errorf("sums of %g and %g", none, lacks)
	}
	if table.Len() != 4 || table.Values[ReadCount][1] != 1 || !math.IsNaN(table.Values[ReadCount][3]) {
		t.Errorf("%+v", table)
	}
}

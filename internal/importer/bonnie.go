package importer

import (
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/verdict"
	"storagebench.io/storagebench/internal/workload/bonnie"
)

// parseBonnie returns a table for each of bonnie's tables. What the text says about it is
// its name, or else the machine's name, which users set to what they measure.
func parseBonnie(output []byte) ([]table, error) {
	found, err := bonnie.Parse(output)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, r := range found {
		t := table{
			name: r.Title, section: r.Section, apart: r.Apart, titled: r.Title != "", machine: r.Machine, typed: r.Command, measurement: r.Measurement,
			settings: map[string]string{"program": r.Program, "size": strconv.FormatUint(r.Size>>20, 10) + "M", "files": r.Files},
		}
		if t.name == "" {
			t.name = r.Machine
		}
		// Since 1.9x, bonnie++ syncs what it writes before its clock stops.
		t.printed = verdict.Printed{FileBytes: float64(r.Size), ReadsBack: true, MayBeUnsynced: !strings.HasPrefix(r.Program, "bonnie++ 1.9") && !strings.HasPrefix(r.Program, "bonnie++ 2")}
		tables = append(tables, t)
	}
	return tables, nil
}

// bonnieCSV is a line of bonnie++ that has versions, or plus signs for what was too fast.
var bonnieCSV = regexp.MustCompile(`(?m)^[ \t>]*1\.9\d[a-z]?,[12]\.\d\d[a-z]?,|,\+{5},\+{3},`)

func likeBonnie(text string) bool {
	return strings.Contains(text, "Sequential Output") || strings.Contains(text, "Sequential Create") || bonnieCSV.MatchString(text)
}

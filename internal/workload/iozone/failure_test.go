package iozone

import (
	"slices"
	"testing"
)

func TestAnErrorOfIozoneIsANote(t *testing.T) {
	tables, err := Parse([]byte("\tThroughput test with 2 processes\n\nError writing block 37, fd= 3\nwrite: No space left on device\n" +
		"\tChildren see throughput for  2 initial writers \t=    1010.50 kB/sec\n"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%+v, %v", tables, err)
	}
	if want := "iozone printed an error: Error writing block 37, fd= 3"; !slices.Contains(tables[0].Measurement.Notes, want) {
		t.Errorf("%q is not in %q", want, tables[0].Measurement.Notes)
	}
}

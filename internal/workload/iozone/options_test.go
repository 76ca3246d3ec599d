package iozone

import (
	"fmt"
	"strings"
	"testing"
)

// throughputOf is a run with a command, and what iozone says of its options.
func throughputOf(command string, says ...string) string {
	var said strings.Builder
	for _, line := range says {
		fmt.Fprintf(&said, "\t%s\n", line)
	}
	return "\tIozone: Performance Test of File I/O\n" + said.String() + "\tCommand line used: " + command + "\n\tOutput is in kBytes/sec\n" +
		"\tThroughput test with 2 processes\n\n\tChildren see throughput for  2 initial writers \t=    1000.00 kB/sec\n" +
		"\tParent sees throughput for  2 initial writers \t=     900.00 kB/sec\n\niozone test complete.\n"
}

func TestOptionsOfTheCommandCount(t *testing.T) {
	for command, want := range map[string]struct{ direct, unsynced bool }{
		"iozone -t 2 -i 0":           {false, true},
		"iozone -ceC -t 2":           {false, false},
		"iozone -t 2 -i 0 -o":        {false, false},
		"iozone -a -B -n 1G -G -M":   {false, false},
		"iozone -t 2 -I -e":          {true, false},
		"iozone -azcI -t 2":          {true, true},
		"iozone -t 2 -f /mnt/e -r4k": {false, true}, // a value is no option
		"iozone -R -b fileIe.xls":    {false, true},
		"iozone -+m eI.conf -t2":     {false, true},
	} {
		tables, err := Parse([]byte(throughputOf(command)))
		if err != nil || len(tables) != 1 {
			t.Fatalf("%s: %d, %v", command, len(tables), err)
		}
		got := tables[0]
		if got.Direct != want.direct || got.Unsynced != want.unsynced || got.Measurement.DirectIO.Requested != want.direct {
			t.Errorf("%s: direct %v, unsynced %v", command, got.Direct, got.Unsynced)
		}
		if note := strings.Contains(fmt.Sprint(got.Measurement.Notes), "not flushed"); note != (want.unsynced && !want.direct) {
			t.Errorf("%s: %q", command, got.Measurement.Notes)
		}
	}
}

// Runs are repeats of each other if all of their commands is the same, and all that iozone says of them.
func TestALongCommandTellsRunsApart(t *testing.T) {
	long := "iozone -t 2 -i 0 -r 4k -s 1m -F " + strings.Repeat("/mnt/a-directory/with-a-long-name ", 6)
	settings := func(text string) string {
		tables, err := Parse([]byte(text))
		if err != nil || len(tables) != 1 {
			t.Fatalf("%d, %v", len(tables), err)
		}
		if len(tables[0].Command) > 160 {
			t.Errorf("shown: %q", tables[0].Command)
		}
		return fmt.Sprint(tables[0].Settings)
	}
	one := settings(throughputOf(long))
	if settings(throughputOf(long)) != one || settings(throughputOf(long+" -e")) == one || settings(throughputOf(long, "O_DIRECT feature enabled")) == one {
		t.Errorf("settings %s", one)
	}
}

package powercut

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Log is what the witness knows.
type Log struct {
	Run Run
	// Wrote is the last record that was written; Synced is the last whose sync had returned.
	// Records are written and synced one after the other, so these are all records up to there.
	Wrote, Synced int
	// Cut is set when the last line is incomplete, as it may be after a cut.
	Cut bool
}

// Events of a log, each with a record's number.
const (
	wrote  = "wrote"
	synced = "synced"
)

// version is in the first line, which describes the run.
const version = "flushcheck/1"

func (r Run) hello() string {
	return fmt.Sprintf("%s run=%s block=%d records=%d device=%t\n", version, r.ID, r.Block, r.Records, r.Device)
}

func event(what string, number int) string { return fmt.Sprintf("%s %d\n", what, number) }

// maxLine is longer than any line.
const maxLine = 128

// ReadLog reads a witness's log, to its end.
func ReadLog(r io.Reader) (Log, error) {
	var log Log
	err := log.follow(r, nil)
	return log, err
}

// follow reads lines until the end, and calls told after each that is good.
func (l *Log) follow(r io.Reader, told func(line []byte) error) error {
	lines := bufio.NewReaderSize(r, maxLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("line %d of the log is longer than %d bytes", number, maxLine)
		case errors.Is(err, io.EOF) && number == 1:
			return errors.New("the log is empty")
		case errors.Is(err, io.EOF):
			l.Cut = len(line) > 0
			return nil
		case err != nil:
			return err
		}
		if err := l.take(number, string(bytes.TrimSuffix(line, []byte("\n")))); err != nil {
			return fmt.Errorf("line %d of the log: %w", number, err)
		}
		if told != nil {
			if err := told(line); err != nil {
				return err
			}
		}
	}
}

// take one line. Only one is right after each: that bounds a log, too.
func (l *Log) take(number int, line string) error {
	if number == 1 {
		run, err := parseHello(line)
		l.Run = run
		return err
	}
	var want string
	if l.Wrote == l.Synced {
		if l.Wrote == l.Run.Records {
			return fmt.Errorf("%q follows the last record", line)
		}
		want = event(wrote, l.Wrote+1)
	} else {
		want = event(synced, l.Wrote)
	}
	if line+"\n" != want {
		return fmt.Errorf("it is %q, expected %q", line, strings.TrimSpace(want))
	}
	if l.Wrote == l.Synced {
		l.Wrote++
	} else {
		l.Synced++
	}
	return nil
}

func parseHello(line string) (Run, error) {
	fields := strings.Fields(line)
	if len(fields) != 5 || fields[0] != version {
		return Run{}, fmt.Errorf("it must begin with %q", version)
	}
	var run Run
	var failed []error
	for i, key := range []string{"run", "block", "records", "device"} {
		value, ok := strings.CutPrefix(fields[i+1], key+"=")
		if !ok {
			return Run{}, fmt.Errorf("it has %q where %s= must be", fields[i+1], key)
		}
		var err error
		switch key {
		case "run":
			run.ID = value
		case "block":
			run.Block, err = strconv.Atoi(value)
		case "records":
			run.Records, err = strconv.Atoi(value)
		case "device":
			run.Device, err = strconv.ParseBool(value)
		}
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		return Run{}, err
	}
	return run, run.check()
}

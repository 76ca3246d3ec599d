package tool

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAScheduleIsRead(t *testing.T) {
	if s, ok := ParseSchedule([]byte("1000 200 3\n")); !ok || s != (Schedule{Ran: 1000, Waited: 200, Slices: 3}) {
		t.Errorf("got %+v", s)
	}
	for _, text := range []string{"", "1 2", "1 2 x", "x 2 3", "1 x 3", "1 2 3 4", "1 2 -3"} {
		if s, ok := ParseSchedule([]byte(text)); ok {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

// A thread that has ended counts with what was last seen of it.
func TestThreadsThatHaveEndedCount(t *testing.T) {
	proc := t.TempDir()
	put := func(thread, text string) {
		t.Helper()
		dir := filepath.Join(proc, "7/task", thread)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Scheduler{proc: filepath.Join(proc, "7/task"), threads: map[string]Schedule{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	close(s.stopped)
	put("7", "10 1 1")
	put("8", "100 10 2")
	put("9", "damaged")
	s.look()
	if err := os.RemoveAll(filepath.Join(proc, "7/task/8")); err != nil {
		t.Fatal(err)
	}
	put("7", "20 2 3")
	s.look()
	if got := s.End(); got != (Schedule{Ran: 120, Waited: 12, Slices: 5}) {
		t.Errorf("got %+v", got)
	}
}

// The threads of a real program are looked at while it runs, if that is asked for.
func TestAProgramsThreadsAreWatched(t *testing.T) {
	command := Command{Program: "sh", Args: []string{"-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.5"}, Dir: t.TempDir(), Scratch: t.TempDir(), Watch: true}
	if r := Run(context.Background(), command); r.Err != nil || r.Schedule.Ran <= 0 || r.Schedule.Ran > time.Minute || r.Schedule.Slices == 0 {
		t.Errorf("%v, %+v", r.Err, r.Schedule)
	}
	command.Watch, command.Args = false, []string{"-c", "sleep 0.3"}
	if r := Run(context.Background(), command); r.Err != nil || r.Schedule != (Schedule{}) {
		t.Errorf("%v, %+v", r.Err, r.Schedule)
	}
	command.Watch, command.Program = true, "/nonexistent"
	if r := Run(context.Background(), command); r.Err == nil || r.Schedule != (Schedule{}) {
		t.Errorf("%v, %+v", r.Err, r.Schedule)
	}
}

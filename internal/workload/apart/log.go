package apart

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxLog is how many bytes of a process's log are passed on, and maxLine how many of
	// a line.
	maxLog  = 64 << 10
	maxLine = 4 << 10
	// maxWords is how much is kept of what the process prints beside its log.
	maxWords = 4 << 10
)

// logReader passes on what an engine's process logs, up to a limit.
type logReader struct {
	from *os.File
	log  *slog.Logger
	done chan struct{}

	mu   sync.Mutex
	said []byte
	// fatal is the first line of a Go program's panic or fatal error.
	fatal string
}

func newLogReader(ctx context.Context, from *os.File, log *slog.Logger) *logReader {
	l := &logReader{from: from, log: log, done: make(chan struct{})}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	go l.copy(ctx)
	return l
}

// copy also reads what is beyond the limit: otherwise the process would block.
func (l *logReader) copy(ctx context.Context) {
	defer close(l.done)
	r := bufio.NewReaderSize(l.from, maxLine)
	for left := maxLog; ; {
		line, err := r.ReadSlice('\n') // a longer line comes in pieces
		text := strings.TrimRight(string(line), "\n")
		switch left -= len(line); {
		case len(line) == 0:
		case left > 0:
			l.pass(ctx, text)
		case !json.Valid(line):
			l.keep(text)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// pass logs a line. Its attributes go into a group, so that they are not mistaken for the
// runner's.
func (l *logReader) pass(ctx context.Context, line string) {
	var record map[string]any
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		l.keep(line)
		l.log.Warn("the engine's process printed a line", "line", line)
		return
	}
	message, _ := record[slog.MessageKey].(string)
	text, _ := record[slog.LevelKey].(string)
	var level slog.Level
	if err := level.UnmarshalText([]byte(text)); err != nil {
		level = slog.LevelWarn
	}
	var attributes []any
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if key != slog.MessageKey && key != slog.LevelKey && key != slog.TimeKey {
			attributes = append(attributes, slog.Any(key, record[key]))
		}
	}
	l.log.Log(ctx, level, message, slog.Group("engine", attributes...))
}

func (l *logReader) keep(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		l.fatal = line
	}
	l.said = append(append(l.said, line...), '\n')
	l.said = l.said[max(0, len(l.said)-maxWords):]
}

// words returns the first line of a panic, if there was one: only a trace follows it. Otherwise
// it returns the end of what the process printed.
func (l *logReader) words() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal != "" {
		return l.fatal
	}
	return string(l.said)
}

// close waits a moment until what was written is read.
func (l *logReader) close() {
	if err := l.from.SetReadDeadline(time.Now().Add(drainWait)); err == nil {
		<-l.done
	}
	_ = l.from.Close() // a pipe
}

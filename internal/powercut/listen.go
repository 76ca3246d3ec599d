package powercut

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Listen is a witness: it takes one connection, writes its lines to the log, and returns what
// they say. It ends when the connection does, when nothing has come for the time of silence (a
// machine without power closes no connection), or with the context. Only a log that could not
// be kept, or lines that no Record writes, are errors.
func Listen(ctx context.Context, listener net.Listener, silence time.Duration, log io.Writer) (Log, error) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	connection, err := listener.Accept()
	if err != nil {
		return Log{}, errors.Join(ctx.Err(), err)
	}
	defer func() { _ = connection.Close() }()
	// The next connection would be another run's.
	_ = listener.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()

	var seen Log
	err = seen.follow(&silent{connection, silence}, func(line []byte) error {
		if _, err := log.Write(line); err != nil {
			return fmt.Errorf("the log cannot be written: %w", err)
		}
		return nil
	})
	if seen.Run.ID != "" && (ctx.Err() != nil || gone(err)) {
		return seen, nil
	}
	return seen, err
}

// gone returns whether the error is what is left of a machine without power.
func gone(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return network
}

// silent is a connection on which something must come within a time.
type silent struct {
	net.Conn
	limit time.Duration
}

func (s *silent) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(s.limit)); err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}

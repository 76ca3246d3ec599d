package presigned

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

const (
	// refusals is how many connections may be refused in a row. Behind the operator's Service, one of two or three
	// replicas listens, and each connection goes to one of them by chance: with two, all are refused once in
	// 65,536 times, with three once in 657.
	refusals = 16
	// firstPause grows twofold, up to longestPause: 2.6 s in all.
	firstPause, longestPause = 5 * time.Millisecond, 250 * time.Millisecond
	// silence is how long an address may not answer before another connection is tried: a Service sends connections
	// to a node that has died for as long as the cluster does not know that. In 10 s there are 10 such attempts.
	silence = 600 * time.Millisecond
	// lastAttempt is what the last one has: a server that is far away, or on a network that loses packets, may
	// need it.
	lastAttempt = 4 * time.Second
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer connects to an address that may stand for several servers, of which one takes connections. Nothing was
// sent when a connection is refused, so trying at once cannot repeat anything.
type dialer struct {
	dial                   dialFunc
	timeout, silence, last time.Duration
}

// connect tries until a server takes the connection, refusals have been refused, or the timeout is over.
func (d dialer) connect(ctx context.Context, network, address string) (net.Conn, error) {
	deadline := time.Now().Add(d.timeout)
	pause := firstPause
	for refused := 0; ; {
		patience := time.Until(deadline)
		if patience > d.last+d.silence {
			patience = d.silence
		}
		attempt, cancel := context.WithTimeout(ctx, patience)
		conn, err := d.dial(attempt, network, address)
		cancel()
		if err == nil || ctx.Err() != nil || time.Until(deadline) <= pause {
			return conn, err
		}
		timeout, ok := errors.AsType[net.Error](err)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			if refused++; refused == refusals {
				return nil, err
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
			}
			pause = min(2*pause, longestPause)
		case !ok || !timeout.Timeout(): // an address that cannot be resolved or routed
			return nil, err
		}
	}
}

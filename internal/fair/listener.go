package fair

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// Listener bounds the connections of a server, with shares by address.
type Listener struct {
	net.Listener
	places Places
}

// Listen gives at most so many places to the connections of a listener.
func Listen(l net.Listener, connections int) *Listener {
	return &Listener{Listener: l, places: Places{Max: connections, Replace: true}}
}

// Accept returns the next connection that has a place.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		end := sync.OnceValue(func() error {
			cancel()
			return c.Close()
		})
		if at := l.places.Take(host(c), func() { _ = end() }); at != nil {
			return &conn{Conn: c, at: at, closed: ctx, end: end}, nil
		}
		_ = end()
	}
}

// host returns the address of the other side, without its port.
func host(c net.Conn) string {
	address := c.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

type conn struct {
	net.Conn
	at *Place
	// closed ends when the connection does.
	closed context.Context
	end    func() error
}

func (c *conn) Close() error {
	c.at.Leave()
	return c.end()
}

type key struct{}

// ConnContext is for http.Server. A request's context ends as soon as its connection has no place any more, which the
// server itself notices only while it reads.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	placed, ok := c.(*conn)
	if !ok {
		return ctx
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, placed))
	context.AfterFunc(placed.closed, cancel)
	return ctx
}

// Keep keeps the place of a request's connection from newcomers, until release is called. It is for requests whose
// sender is known, and that are bounded in another way.
func Keep(ctx context.Context) (release func()) {
	placed, ok := ctx.Value(key{}).(*conn)
	if !ok {
		return func() {}
	}
	placed.at.keep(true)
	return func() { placed.at.keep(false) }
}

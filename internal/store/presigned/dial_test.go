package presigned

import (
	"context"
	"encoding/pem"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// service is an address that stands for several servers, as a Service of Kubernetes does: each connection goes to the
// next one of a list, and what does not listen refuses it.
type service struct {
	servers []string
	next    func(attempt int) int
	made    atomic.Int32
}

func (s *service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.servers[s.next(int(s.made.Add(1))-1)])
}

// closed is an address on which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func leader(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	t.Cleanup(server.Close)
	return server
}

func TestAWorkerFindsTheReplicaThatListens(t *testing.T) {
	server := leader(t)
	o, err := New(trial.Grant{
		Get:      map[string]string{"plan": server.URL + "/plan"},
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	s := &service{servers: []string{server.Listener.Addr().String(), closed(t)}, next: func(int) int { return draw.IntN(2) }}
	o.client.Transport.(*http.Transport).DialContext = dialer{dial: s.dial, timeout: connectTimeout, silence: silence, last: lastAttempt}.connect
	const downloads = 30
	for range downloads {
		if _, err := o.Get(t.Context(), "plan"); err != nil {
			t.Fatal(err)
		}
	}
	if made := s.made.Load(); made <= downloads {
		t.Errorf("%d connections for %d downloads: none was refused, so this shows nothing", made, downloads)
	}
}

// When the leader has died, its node answers nothing until the cluster knows. The next leader is there before.
func TestAWorkerFindsTheNextLeaderBehindADeadOne(t *testing.T) {
	next := leader(t).Listener.Addr().String()
	attempts := 0
	d := dialer{timeout: time.Minute, silence: 20 * time.Millisecond, dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		if attempts++; attempts <= 3 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return (&net.Dialer{}).DialContext(ctx, network, next)
	}}
	conn, err := d.connect(t.Context(), "tcp", "receiver:8443")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestConnectingEnds(t *testing.T) {
	unknown := &net.DNSError{Err: "no such host", Name: "receiver"}
	for name, c := range map[string]struct {
		err      error // of each attempt; nil: no answer
		timeout  time.Duration
		want     error
		attempts int // 0: any number
	}{
		"all refuse":             {err: syscall.ECONNREFUSED, timeout: time.Hour, want: syscall.ECONNREFUSED, attempts: refusals},
		"all refuse, no time":    {err: syscall.ECONNREFUSED, timeout: time.Millisecond, want: syscall.ECONNREFUSED, attempts: 1},
		"no answer":              {timeout: 50 * time.Millisecond, want: context.DeadlineExceeded},
		"a name that is unknown": {err: unknown, timeout: time.Hour, want: unknown, attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := 0
			d := dialer{timeout: c.timeout, silence: 10 * time.Millisecond, dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				attempts++
				if c.err != nil {
					return nil, c.err
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			if _, err := d.connect(t.Context(), "tcp", "receiver:8443"); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if c.attempts > 0 && attempts != c.attempts {
				t.Errorf("%d attempts, want %d", attempts, c.attempts)
			}
		})
	}
}

func TestConnectingEndsWithTheWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := dialer{timeout: time.Hour, silence: time.Minute, dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	if _, err := d.connect(ctx, "tcp", "receiver:8443"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

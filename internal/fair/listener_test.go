package fair

import (
	"crypto/tls"
	"fmt"
	"net"
	"testing"
	"time"
)

// from is a listener whose connections come from the addresses, one after the other.
type from struct {
	net.Listener
	addresses chan string
}

func (f *from) Accept() (net.Conn, error) {
	mine, _ := net.Pipe()
	return &of{Conn: mine, address: <-f.addresses}, nil
}

type of struct {
	net.Conn
	address string
}

func (o *of) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(o.address), Port: 1}
}

// Some Pods of one tenant, which need no grant for it, must not keep others' workers or the kubelet from connecting.
func TestSomeAddressesDoNotTakeAllConnections(t *testing.T) {
	const connections = 64
	in := &from{addresses: make(chan string)}
	l := Listen(in, connections)
	accepted := make(chan string)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- host(c) // and nobody closes it
		}
	}()
	// More addresses than there are places.
	for n := range 4 * connections {
		in.addresses <- fmt.Sprintf("10.0.0.%d", n%(connections+8)+1)
		<-accepted
	}
	go func() { in.addresses <- "10.0.1.1" }()
	select {
	case who := <-accepted:
		if who != "10.0.1.1" {
			t.Errorf("%s is accepted", who)
		}
	case <-time.After(3 * time.Second):
		t.Fatal("somebody else's worker is not accepted while the Pods of one tenant hold their connections")
	}
	if got := len(l.places.taken); got > connections {
		t.Errorf("%d connections are open, more than %d", got, connections)
	}
}

// A handler that does not read must end, too, or a flood of requests takes the memory that its connections may not.
func TestARequestEndsWithItsConnection(t *testing.T) {
	in := &from{addresses: make(chan string, 2)}
	in.addresses <- "10.0.0.1"
	in.addresses <- "10.0.0.1"
	l := Listen(in, 4)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ctx := ConnContext(t.Context(), tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS12}))
	release := Keep(ctx)
	if got := l.places.Take("10.0.0.1", nothing); got != nil {
		t.Error("a connection that is kept is replaced")
	}
	release()
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
		t.Error("the request lasts longer than its connection")
	}
	_ = c.Close()
	if got := len(l.places.taken); got != 1 {
		t.Errorf("%d places are taken", got)
	}
}

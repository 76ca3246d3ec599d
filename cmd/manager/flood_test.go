package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// started runs a server until the test ends.
func started(t *testing.T, s *manager.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// status asks for a URL on a connection of its own.
func status(t *testing.T, url string) int {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// strangers open connections and send headers without an end, up to the part of a megabyte that the server reads.
func strangers(t *testing.T, number int, dial func() (net.Conn, error)) {
	t.Helper()
	header := []byte("X-A: " + strings.Repeat("x", 4000) + "\r\n")
	for range number {
		c, err := dial()
		if err != nil {
			continue // it has been given to another stranger
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\n"))
		for range 255 {
			if _, err := c.Write(header); err != nil {
				break
			}
		}
	}
}

// Every Pod of the cluster may connect to the port of the metrics, and needs no token to send headers.
func TestHeadersOfStrangersTakeLittleMemory(t *testing.T) {
	o := &metricsOptions{address: "127.0.0.1:0"}
	s, _, err := o.server(t.Context(), func(_ logr.Logger, h http.Handler) (http.Handler, error) { return h, nil })
	if err != nil {
		t.Fatal(err)
	}
	started(t, s)
	address := s.Listener.Addr().String()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapInuse
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	strangers(t, 200, func() (net.Conn, error) { return dialer.DialContext(t.Context(), "tcp", address) })
	runtime.GC()
	runtime.ReadMemStats(&m)
	if grown := (int64(m.HeapInuse) - int64(before)) >> 20; grown > 32 {
		t.Errorf("the headers of 200 connections take %d MiB; the operator has 256", grown)
	}
	if got := status(t, "https://"+address+"/metrics"); got != http.StatusOK {
		t.Errorf("a scrape gets HTTP %d", got)
	}
}

// The kubelet would restart an operator whose probes do not get through. Even strangers at its own address, and
// connections that send nothing, must not keep it out.
func TestProbesGetThroughBesideStrangers(t *testing.T) {
	s, err := healthServer(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started(t, s)
	address := s.Listener.Addr().String()
	for range 4 * maxHealthConnections {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	strangers(t, 20, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(t.Context(), "tcp", address) })
	for _, path := range []string{"/healthz", "/readyz", "/readyz/readyz"} {
		if got := status(t, "http://"+address+path); got != http.StatusOK {
			t.Errorf("%s: HTTP %d", path, got)
		}
	}
}

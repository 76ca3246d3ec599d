//go:build system

package presigned

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// inNetwork is set in the process that has a network of its own.
const inNetwork = "STORAGEBENCH_TEST_NETWORK"

// The rules are those of kube-proxy: each connection to the Service goes to one of two replicas by chance. By the same
// chance, the test fails once in 400 times.
func TestAWorkerFindsTheLeaderBehindAService(t *testing.T) {
	if os.Getenv(inNetwork) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), inNetwork+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const service, first, second = "10.96.0.9:8443", "127.0.0.1:7001", "127.0.0.1:7002"
	run := func(command string) {
		t.Helper()
		words := strings.Fields(command)
		if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	run("ip link set lo up")
	run("ip address add 10.96.0.9/32 dev lo")
	const rule = "iptables --wait --table nat --append OUTPUT --destination 10.96.0.9 --protocol tcp --dport 8443 "
	run(rule + "--match statistic --mode random --probability 0.5 --jump DNAT --to-destination " + first)
	run(rule + "--jump DNAT --to-destination " + second)

	lead := func(address string) *httptest.Server {
		t.Helper()
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })}} //nolint:gosec // a test
		server.StartTLS()
		return server
	}
	download := func(what string, times int) {
		t.Helper()
		for i := range times {
			if _, err := objects(t, service).Get(t.Context(), "plan"); err != nil {
				t.Fatalf("%s: download %d of %d: %v", what, i+1, times, err)
			}
		}
	}
	leader := lead(first)
	download("the first replica leads", 12)
	leader.CloseClientConnections()
	leader.Close()
	leader = lead(second)
	defer leader.Close()
	download("the second has taken over", 12)
	// As a node that has died, until the cluster knows.
	run("iptables --wait --append INPUT --protocol tcp --dport 7001 --jump DROP")
	download("the first one's node is dead", 4)
}

// objects is what a worker has of a grant that names the Service.
func objects(t *testing.T, service string) *Objects {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close() // all servers of this package have its certificate
	o, err := New(trial.Grant{
		Get:      map[string]string{"plan": fmt.Sprintf("https://%s/plan", service)},
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.client.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com"
	return o
}

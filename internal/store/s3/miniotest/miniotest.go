// Package miniotest runs a real MinIO server for tests. The environment
// variable STORAGEBENCH_MINIO names the server's program.
package miniotest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Credentials of every server that is started.
const (
	AccessKey = "storagebench-test"
	SecretKey = "storagebench-test-secret"
)

// Server is a MinIO process on its own port.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// CABundle holds the authority of its certificate, with TLS.
	CABundle []byte

	t    *testing.T
	dir  string
	port string
	env  []string
	cmd  *exec.Cmd
	log  *bytes.Buffer
}

// Option changes how a server is started.
type Option func(*Server)

// WithTLS gives the server a certificate from an unknown authority.
func WithTLS() Option {
	return func(s *Server) { s.makeCertificate() }
}

// WithPolicy makes the server call allow for every action on an object and every
// user. When allow returns false, the server itself refuses.
func WithPolicy(allow func(action, object string) bool) Option {
	return func(s *Server) {
		plugin := newPolicy(allow)
		s.t.Cleanup(plugin.Close)
		s.env = append(s.env, "MINIO_POLICY_PLUGIN_URL="+plugin.URL)
	}
}

// Start runs a server until the test ends.
func Start(t *testing.T, options ...Option) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), port: freePort(t)}
	s.Endpoint = "http://127.0.0.1:" + s.port
	for _, o := range options {
		o(s)
	}
	s.Run()
	t.Cleanup(func() { s.Stop() })
	return s
}

// Run starts the server's process. After Stop it starts again with the same
// data.
func (s *Server) Run() {
	s.t.Helper()
	program := os.Getenv("STORAGEBENCH_MINIO")
	if program == "" {
		s.t.Fatal(`STORAGEBENCH_MINIO is not set: build MinIO with "hack/cluster/cluster tools minio", which prints its directory, and set the variable to the path of the program`)
	}
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command(program, "server", "--quiet", "--address", "127.0.0.1:"+s.port, "--console-address", "127.0.0.1:0",
		"--certs-dir", filepath.Join(s.dir, "certs"), filepath.Join(s.dir, "data"))
	s.cmd.Env = append(append(os.Environ(), "MINIO_ROOT_USER="+AccessKey, "MINIO_ROOT_PASSWORD="+SecretKey, "MINIO_UPDATE=off", "MINIO_CI_CD=1", "HOME="+s.dir), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("STORAGEBENCH_MINIO: %v", err)
	}
	s.waitReady()
}

func (s *Server) waitReady() {
	s.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := s.Client().ListBuckets(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("MinIO did not start: %v\n%s", err, s.log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop kills the server, as if its machine failed. Its data stays.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may already have ended
	_ = s.cmd.Wait()         // it was killed
	s.cmd = nil
}

// Client is the SDK's client with the root credentials.
func (s *Server) Client() *minio.Client {
	s.t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.CABundle != nil {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(s.CABundle)
	}
	c, err := minio.New("127.0.0.1:"+s.port, &minio.Options{
		Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Secure: s.CABundle != nil, Transport: transport, MaxRetries: 1,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Bucket creates a bucket.
func (s *Server) Bucket(name string) {
	s.t.Helper()
	if err := s.Client().MakeBucket(context.Background(), name, minio.MakeBucketOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// newPolicy serves the protocol of MinIO's policy plugin.
func newPolicy(allow func(action, object string) bool) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Input struct {
				Action string `json:"action"`
				Object string `json:"object"`
			} `json:"input"`
		}
		answer := true // MinIO probes the plugin at its start
		if err := json.NewDecoder(r.Body).Decode(&question); err == nil && question.Input.Action != "" {
			answer = allow(question.Input.Action, question.Input.Object)
		}
		_, _ = fmt.Fprintf(w, `{"result":%t}`, answer)
	}))
}

// makeCertificate writes a key and a self-signed certificate where MinIO looks
// for them.
func (s *Server) makeCertificate() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "miniotest"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	certs := filepath.Join(s.dir, "certs")
	if err := os.MkdirAll(certs, 0o700); err != nil {
		s.t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"public.crt":  s.CABundle,
		"private.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(certs, name), content, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Endpoint = "https://127.0.0.1:" + s.port
}

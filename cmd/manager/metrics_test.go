package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"storagebench.io/storagebench/controllers/metrics/access"
)

// certificate writes one that is its own authority, and its key, as a Secret of type kubernetes.io/tls is mounted.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMetricsAreServedWithTLSAndAToken(t *testing.T) {
	filter, err := access.Filter(&rest.Config{}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o      metricsOptions
		filter server.Filter
		scheme string
		want   int
	}{
		"by default":         {metricsOptions{}, filter, "https", http.StatusUnauthorized},
		"with a certificate": {metricsOptions{certDir: certificate(t)}, filter, "https", http.StatusUnauthorized},
		"insecure":           {metricsOptions{insecure: true}, nil, "http", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.address = "127.0.0.1:0"
			s, watcher, err := tt.o.server(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := watcher != nil; got != (tt.o.certDir != "") {
				t.Errorf("the certificate is read again: %t", got)
			}
			started(t, s)
			if got := status(t, tt.scheme+"://"+s.Listener.Addr().String()+"/metrics"); got != tt.want {
				t.Errorf("HTTP %d, want %d", got, tt.want)
			}
		})
	}
}

func TestACertificateThatIsNotThereIsNamed(t *testing.T) {
	for name, o := range map[string]metricsOptions{
		"no files":            {certDir: t.TempDir()},
		"no such directory":   {certDir: "/no/such/directory"},
		"with plain HTTP too": {certDir: certificate(t), insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := o.check(); err == nil || !strings.Contains(err.Error(), "--metrics-cert-dir") {
				t.Errorf("error %v does not name the flag", err)
			}
		})
	}
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	dir := certificate(t)
	for name, o := range map[string]metricsOptions{
		"by default":         {address: ":8080"},
		"with a certificate": {address: ":8080", certDir: dir},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := o.server()
			if err != nil {
				t.Fatal(err)
			}
			if !got.SecureServing || got.FilterProvider == nil || got.CertDir != o.certDir || got.BindAddress != ":8080" {
				t.Errorf("%+v", got)
			}
		})
	}
	open, err := (&metricsOptions{address: ":8080", insecure: true}).server()
	if err != nil || open.SecureServing || open.FilterProvider != nil {
		t.Errorf("--metrics-insecure: %+v, %v", open, err)
	}
}

func TestACertificateThatIsNotThereIsNamed(t *testing.T) {
	for name, o := range map[string]metricsOptions{
		"no files":            {certDir: t.TempDir()},
		"no such directory":   {certDir: "/no/such/directory"},
		"with plain HTTP too": {certDir: certificate(t), insecure: true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := o.server(); err == nil || !strings.Contains(err.Error(), "--metrics-cert-dir") {
				t.Errorf("error %v does not name the flag", err)
			}
		})
	}
}

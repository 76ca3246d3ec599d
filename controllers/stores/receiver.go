package stores

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/store/inbox"
)

// ReceiverSecret is the Secret in the operator's namespace that holds the key and the
// certificate of the receiver. The key is also that of Seals. The chart creates it empty, so that the operator needs no right
// to create Secrets there; the operator fills it.
const ReceiverSecret = "storagebench-receiver"

// Keys of ReceiverSecret.
const (
	secretSigningKey  = "signing.key"
	secretCertificate = "tls.crt"
	secretPrivateKey  = "tls.key"
)

// certificateValid is how long the receiver's certificate is valid. Only workers trust it, for
// as long as their grant lasts. Delete the Secret's data to get a new one.
const certificateValid = 10 * 365 * 24 * time.Hour

// Receiver takes what workers of runs without a ResultStore upload. Only the leader listens: a
// worker that reaches another replica is refused the connection, and tries another one at once
// (internal/store/presigned).
type Receiver struct {
	Inbox *inbox.Inbox
	// Address to listen on, such as :8443.
	Address string
	// Live reads benchmarks without a cache: one that is not in it yet is not gone.
	Live client.Reader
}

var (
	_ manager.Runnable               = (*Receiver)(nil)
	_ manager.LeaderElectionRunnable = (*Receiver)(nil)
)

// NeedLeaderElection is true.
func (r *Receiver) NeedLeaderElection() bool { return true }

// Start listens until ctx ends. An error does not end the operator, whose other work does not
// depend on the receiver.
func (r *Receiver) Start(ctx context.Context) error {
	for {
		err := r.run(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the operator ends, and so does what it was doing
		}
		if err == nil {
			return nil
		}
		ctrl.LoggerFrom(ctx).Error(err, "cannot receive results of runs without a ResultStore; will try again")
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
}

func (r *Receiver) run(ctx context.Context) error {
	if err := r.sweep(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.Address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // Serve has closed it, unless it failed
	return r.Inbox.Serve(ctx, listener)
}

// sweep drops what is held of benchmarks that are gone.
func (r *Receiver) sweep(ctx context.Context) error {
	held, err := r.Inbox.Benchmarks(ctx)
	if err != nil {
		return err
	}
	for _, of := range held {
		err := r.Live.Get(ctx, types.NamespacedName{Namespace: of[0], Name: of[1]}, &v1alpha1.StorageBenchmark{})
		if apierrors.IsNotFound(err) {
			err = r.Inbox.Drop(ctx, of[0], of[1], inbox.Keep{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Identity reads the receiver's Secret, and fills it if it is empty.
func Identity(live client.Reader, writer client.Client, namespace, receiverURL string) func(context.Context) (inbox.Identity, error) {
	return func(ctx context.Context) (inbox.Identity, error) {
		u, err := url.Parse(receiverURL)
		if err != nil || u.Hostname() == "" || u.Scheme != "https" {
			return inbox.Identity{}, fmt.Errorf("--receiver-url %q is not a URL like https://HOST:PORT", receiverURL)
		}
		secret, err := receiverSecret(ctx, live, namespace)
		if err != nil {
			return inbox.Identity{}, err
		}
		if identity, ok := identityOf(secret, u.Hostname()); ok {
			return identity, nil
		}
		made, err := newIdentity(u.Hostname(), secret.Data[secretSigningKey])
		if err != nil {
			return inbox.Identity{}, err
		}
		secret.Data = map[string][]byte{secretSigningKey: made.Key, secretCertificate: made.Certificate, secretPrivateKey: made.PrivateKey}
		if err := writer.Update(ctx, secret); err != nil {
			return inbox.Identity{}, fmt.Errorf("filling Secret %s in namespace %s: %w", secret.Name, secret.Namespace, err)
		}
		return made, nil
	}
}

// identityOf returns what a Secret holds, if it is whole and is for the host.
func identityOf(secret *corev1.Secret, host string) (inbox.Identity, bool) {
	identity := inbox.Identity{Key: secret.Data[secretSigningKey], Certificate: secret.Data[secretCertificate], PrivateKey: secret.Data[secretPrivateKey]}
	block, _ := pem.Decode(identity.Certificate)
	if len(identity.Key) < signingKeyBytes || len(identity.PrivateKey) == 0 || block == nil {
		return inbox.Identity{}, false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || certificate.VerifyHostname(host) != nil {
		return inbox.Identity{}, false
	}
	return identity, true
}

// newIdentity makes a certificate for the host that signs itself, and a key unless there is one.
func newIdentity(host string, key []byte) (inbox.Identity, error) {
	identity := inbox.Identity{Key: key}
	if len(key) < signingKeyBytes {
		identity.Key = newSigningKey()
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "storagebench receiver"},
		// A node's clock may be behind.
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(certificateValid),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	pkcs8, keyErr := x509.MarshalPKCS8PrivateKey(private)
	if err := errors.Join(err, keyErr); err != nil {
		return identity, err
	}
	identity.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	identity.PrivateKey = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	return identity, nil
}

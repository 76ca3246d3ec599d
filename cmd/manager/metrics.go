package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"storagebench.io/storagebench/controllers/metrics/access"
	"storagebench.io/storagebench/internal/fair"
)

// A few scrapers connect, each once or twice.
const maxMetricsConnections = 64

// metricsOptions say how metrics are served.
type metricsOptions struct {
	address  string
	insecure bool
	certDir  string
}

func (o *metricsOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.address, "metrics-bind-address", server.DefaultBindAddress, "address of /metrics; 0: none")
	f.BoolVar(&o.insecure, "metrics-insecure", false, "serve /metrics over plain HTTP to everybody, without a token")
	f.StringVar(&o.certDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for /metrics, read again when they change (default: none, and a certificate that the operator signs itself when it starts)")
}

// check says what is wrong with the flags.
func (o *metricsOptions) check() error {
	switch {
	case o.certDir == "":
		return nil
	case o.insecure:
		return fmt.Errorf("--metrics-cert-dir is %s, but --metrics-insecure serves without a certificate; remove one of them", o.certDir)
	}
	if _, err := tls.LoadX509KeyPair(o.files()); err != nil {
		return fmt.Errorf("--metrics-cert-dir %s: %w; it must have a certificate in tls.crt and its key in tls.key", o.certDir, err)
	}
	return nil
}

func (o *metricsOptions) files() (certificate, key string) {
	return o.certDir + "/tls.crt", o.certDir + "/tls.key"
}

// add adds the server of metrics to the manager. It serves TLS to those whose token the API server knows and whose
// account may get the URL /metrics.
func (o *metricsOptions) add(ctx context.Context, mgr ctrl.Manager) error {
	if none(o.address) {
		return nil
	}
	var filter server.Filter
	if !o.insecure {
		var err error
		if filter, err = access.Filter(mgr.GetConfig(), mgr.GetHTTPClient()); err != nil {
			return err
		}
	}
	served, watcher, err := o.server(ctx, filter)
	if err != nil {
		return err
	}
	if watcher != nil {
		if err := mgr.Add(watcher); err != nil {
			return err
		}
	}
	return mgr.Add(served)
}

// server returns the server of metrics, and what reads its certificate again when it changes, if anything does.
func (o *metricsOptions) server(ctx context.Context, filter server.Filter) (*manager.Server, *certwatcher.CertWatcher, error) {
	metricsHandler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	if filter != nil {
		var err error
		if metricsHandler, err = filter(log.Log.WithName("metrics"), kept(metricsHandler)); err != nil {
			return nil, nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metricsHandler)
	var secure *tls.Config
	var watcher *certwatcher.CertWatcher
	if !o.insecure {
		var err error
		if secure, watcher, err = o.tls(); err != nil {
			return nil, nil, err
		}
	}
	served, err := boundedServer(ctx, "metrics", o.address, maxMetricsConnections, mux)
	if err == nil && secure != nil {
		served.Listener = tls.NewListener(served.Listener, secure)
	}
	return served, watcher, err
}

func (o *metricsOptions) tls() (*tls.Config, *certwatcher.CertWatcher, error) {
	// HTTP/2 is of no use to a scrape, and lets a client cancel requests faster than they can be refused.
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.certDir != "" {
		watcher, err := certwatcher.New(o.files())
		if err != nil {
			return nil, nil, fmt.Errorf("--metrics-cert-dir %s: %w", o.certDir, err)
		}
		config.GetCertificate = watcher.GetCertificate
		return config, watcher, nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot sign a certificate for /metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	config.Certificates = []tls.Certificate{pair}
	return config, nil, err
}

// kept keeps the connection of a request that has passed the filter, so that a flood of strangers does not cut off a
// scrape.
func kept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer fair.Keep(r.Context())()
		next.ServeHTTP(w, r)
	})
}

// none reports whether an address of a flag asks for no server.
func none(address string) bool { return address == "" || address == "0" }

// boundedServer returns a server that strangers cannot make take much memory: every Pod may connect, and the defaults
// of controller-runtime let each connection send a megabyte of headers, in as many connections as it likes.
func boundedServer(ctx context.Context, name, address string, connections int, handler http.Handler) (*manager.Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %s: %w", name, err)
	}
	shutdown := 5 * time.Second
	return &manager.Server{
		Name:            name,
		Listener:        fair.Listen(listener, connections),
		ShutdownTimeout: &shutdown,
		Server: &http.Server{
			Handler:           handler,
			ConnContext:       fair.ConnContext,
			MaxHeaderBytes:    16 << 10,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			// The API server may take a while to know a token.
			WriteTimeout: 30 * time.Second,
			IdleTimeout:  90 * time.Second,
		},
	}, nil
}

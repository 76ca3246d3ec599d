package main

import (
	"crypto/tls"
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"storagebench.io/storagebench/controllers/metrics/access"
)

// metricsOptions say how metrics are served.
type metricsOptions struct {
	address  string
	insecure bool
	certDir  string
}

func (o *metricsOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.address, "metrics-bind-address", ":8080", "address of /metrics; 0: none")
	f.BoolVar(&o.insecure, "metrics-insecure", false, "serve /metrics over plain HTTP to everybody, without a token")
	f.StringVar(&o.certDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for /metrics, read again when they change (default: none, and a certificate that the operator signs itself when it starts)")
}

// server returns the options of the server of metrics. It serves TLS to those whose token the API
// server knows and whose account may get the URL /metrics.
func (o *metricsOptions) server() (server.Options, error) {
	out := server.Options{BindAddress: o.address}
	if o.insecure {
		if o.certDir != "" {
			return out, fmt.Errorf("--metrics-cert-dir is %s, but --metrics-insecure serves without a certificate; remove one of them", o.certDir)
		}
		return out, nil
	}
	out.SecureServing, out.FilterProvider, out.CertDir = true, access.Filter, o.certDir
	// HTTP/2 is of no use to a scrape, and lets a client cancel requests faster than they can be refused.
	out.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
	}}
	if o.certDir == "" {
		return out, nil
	}
	// Without the files, the server would sign a certificate itself, which nobody asked for.
	if _, err := tls.LoadX509KeyPair(o.certDir+"/tls.crt", o.certDir+"/tls.key"); err != nil {
		return out, fmt.Errorf("--metrics-cert-dir %s: %w; it must have a certificate in tls.crt and its key in tls.key", o.certDir, err)
	}
	return out, nil
}

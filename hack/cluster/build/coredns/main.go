// Command coredns is CoreDNS with the plugins that cluster DNS needs and no
// others: without the clouds' SDKs it builds in a third of the time.
package main

import (
	_ "time/tzdata"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// The order in which a query passes the plugins.
	dnsserver.Directives = []string{"health", "ready", "errors", "cache", "kubernetes", "template"}
	coremain.Run()
}

package main

import (
	"context"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// The kubelet connects, once for each probe.
const maxHealthConnections = 32

// addHealth adds the server of /healthz and /readyz to the manager.
func addHealth(ctx context.Context, mgr ctrl.Manager, address string) error {
	if none(address) {
		return nil
	}
	served, err := healthServer(ctx, address)
	if err != nil {
		return err
	}
	return mgr.Add(served)
}

func healthServer(ctx context.Context, address string) (*manager.Server, error) {
	mux := http.NewServeMux()
	for name, path := range map[string]string{"healthz": "/healthz", "readyz": "/readyz"} {
		checks := http.StripPrefix(path, &healthz.Handler{Checks: map[string]healthz.Checker{name: healthz.Ping}})
		mux.Handle(path, checks)
		mux.Handle(path+"/", checks) // one check of its own
	}
	return boundedServer(ctx, "health", address, maxHealthConnections, mux)
}

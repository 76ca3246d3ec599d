// Package apiserver starts the API server against which tests hold controllers and policies: etcd
// and kube-apiserver from the directory that KUBEBUILDER_ASSETS names, with the project's resources.
package apiserver

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startTimeout is how long one start may take. envtest's own 20 s are too few on a machine that
// compiles and runs other tests meanwhile, and a start that is given up is made again from nothing.
const startTimeout = 4 * time.Minute

// Start runs an API server that has the CRDs of the directory crds, until stop is called.
func Start(crds string) (config *rest.Config, stop func(), err error) {
	environment := &envtest.Environment{
		CRDDirectoryPaths:        []string{crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  time.Minute,
	}
	if config, err = environment.Start(); err != nil {
		return nil, nil, fmt.Errorf("the API server of the tests did not start: %w; run the tests by their make target, which sets KUBEBUILDER_ASSETS", err)
	}
	return config, func() { _ = environment.Stop() }, nil
}

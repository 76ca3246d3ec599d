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

// Server is an API server of a test.
type Server struct {
	Config *rest.Config
	// KubeConfig is the same for programs, as a file of kubectl's.
	KubeConfig []byte
	// Stop ends it.
	Stop func()
}

// Run runs an API server that has the CRDs of the directory crds, until it is stopped.
func Run(crds string) (*Server, error) {
	environment := &envtest.Environment{
		CRDDirectoryPaths:        []string{crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  time.Minute,
	}
	config, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("the API server of the tests did not start: %w; run the tests by their make target, which sets KUBEBUILDER_ASSETS", err)
	}
	return &Server{Config: config, KubeConfig: environment.KubeConfig, Stop: func() { _ = environment.Stop() }}, nil
}

// Start is Run for tests that need its configuration only.
func Start(crds string) (config *rest.Config, stop func(), err error) {
	s, err := Run(crds)
	if err != nil {
		return nil, nil, err
	}
	return s.Config, s.Stop, nil
}

// Package crd holds the CustomResourceDefinitions as they are generated, so that
// the command line checks a file as the API server does.
package crd

import _ "embed"

// StorageBenchmark is the CustomResourceDefinition of that kind, in YAML.
//
//go:embed bases/storagebench.io_storagebenchmarks.yaml
var StorageBenchmark []byte

// StorageBenchmarkSchedule is the CustomResourceDefinition of that kind, in YAML.
//
//go:embed bases/storagebench.io_storagebenchmarkschedules.yaml
var StorageBenchmarkSchedule []byte

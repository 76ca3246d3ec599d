// Package spec reads a StorageBenchmark from a file as the API server would:
// unknown fields are errors, defaults are applied, and the schema and its rules
// are checked. All come from the same CustomResourceDefinition.
package spec

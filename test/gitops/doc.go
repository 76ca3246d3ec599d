// Package gitops tests what tools that deploy from Git see of a benchmark. In: every state that a
// StorageBenchmark and a ResultStore can be in, as the operator writes it (internal/status). Out:
// what kstatus, Argo CD and Flux make of each. kstatus is computed by its own library; the health
// script for Argo CD (config/gitops/argocd) runs in the interpreter that Argo CD uses, with the
// libraries that it gives to scripts; the expressions for Flux (config/gitops/flux) are evaluated
// by the CEL library that Flux uses, in the order in which Flux does so.
package gitops

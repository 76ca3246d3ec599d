// Package jobspec builds the Kubernetes objects of a worker. It is pure: no
// client, no clock; the same input gives the same objects.
//
// A worker's Job owns everything that the worker needs, so that deleting the Job
// in the foreground deletes it all, and the Job is gone only when all of it is:
//
//	Job        runs the Pod; it is made suspended and resumed when the rest is there
//	PVC        the volume to measure, if it is generated
//	ConfigMap  plan.json, immutable; its digest stands in the Job's arguments
//	Secret     grant.json: URLs signed for this worker's objects, immutable
//
// The Pod has no API token and no credentials. It passes the restricted Pod
// Security level, unless its target is a path of the node: a directory needs a
// hostPath volume and root without capabilities, a device needs privilege. Of a
// privileged Pod only the runner keeps that: see internal/workload/apart.
package jobspec

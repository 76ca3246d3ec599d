// Package alerts holds the chart's alerts and dashboard against a real Prometheus and a real
// Alertmanager, which scrape the operator over TLS with a token, beside a real API server
// (make test-alerts; build tag alerts).
//
// The operator is a replica that does not lead: it reports what is in the API server, and changes
// nothing. So the test writes the status of objects as it needs them: each alert fires, everything
// is repaired, and each alert ends. At the end the operator becomes the leader, for the panels that
// show its own work. The rules' durations are shortened; nothing else of them is changed. Two alerts
// count failures that a healthy operator has none of: promtool tests those with samples.
package alerts

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// auditPolicy has the API server log the requests of the operator's user, once each,
// and nobody else's. Watches are left out: they are long polls.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  verbs: [watch]
- level: Metadata
  users: ["` + operatorUser + `"]
- level: None
`

// auditEvent is what is read of a line of the audit log.
type auditEvent struct {
	Verb      string `json:"verb"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// kind of a request, such as "patch jobs/status". Renewals of the leader's Lease are a
// kind of their own, as they count seconds and not benchmarks.
func (e auditEvent) kind() string {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	if resource == "leases" && e.ObjectRef.Name == leaderLease {
		return leaderElection
	}
	if resource == "" {
		resource = "discovery"
	}
	return e.Verb + " " + resource
}

const leaderElection = "leader election"

// requests counts requests by their kind.
type requests map[string]int

// total leaves the leader's Lease out.
func (r requests) total() int {
	n := 0
	for kind, count := range r {
		if kind != leaderElection {
			n += count
		}
	}
	return n
}

// most returns the kinds in the order of their counts.
func (r requests) most() []string {
	var kinds []string
	for kind := range r {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if r[a] != r[b] {
			return r[b] - r[a]
		}
		return strings.Compare(a, b)
	})
	return kinds
}

// auditLog is read on from where the last reading ended.
type auditLog struct {
	path   string
	offset int64
}

// read returns what was logged since the last call. refused counts answers of 400 and
// above by kind and code.
func (l *auditLog) read() (all, refused requests, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return nil, nil, err
	}
	all, refused, n, err := countAudit(f)
	l.offset += n
	return all, refused, err
}

// countAudit counts the complete lines of an audit log, and returns how many bytes they are.
func countAudit(r io.Reader) (all, refused requests, bytes int64, err error) {
	all, refused = requests{}, requests{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, refused, bytes, nil // a line without an end is read the next time
		}
		if err != nil {
			return all, refused, bytes, err
		}
		bytes += int64(len(line))
		e := auditEvent{}
		if err := json.Unmarshal(line, &e); err != nil {
			return all, refused, bytes, err
		}
		all[e.kind()]++
		if e.ResponseStatus.Code >= 400 {
			refused[e.kind()]++
		}
	}
}

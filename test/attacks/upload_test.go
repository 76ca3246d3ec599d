//go:build attacks

package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/cluster"
)

// bomb makes a worker's summary.
type bomb func(l loot) []byte

// summary is a forged one with the members given, after those that make it the worker's.
func summary(members string) bomb {
	return func(l loot) []byte {
		honest, err := json.Marshal(result.NewWorkerSummary(l.plan, l.worker))
		if err != nil {
			return nil
		}
		return []byte(strings.TrimSuffix(string(honest), "}") + "," + members + "}")
	}
}

func repeated(what string, bytes int) string {
	return strings.TrimSuffix(strings.Repeat(what+",", bytes/(len(what)+1)), ",")
}

const (
	mib = 1 << 20
	// large is below what a summary may have, so that it is decoded.
	large = result.MaxWorkerSummary - 64<<10
)

// nothing is the one summary that has no bytes.
const nothing = "nothing"

// failure is one that a worker could give.
func failure(class, message string) bomb {
	return func(l loot) []byte {
		s := result.NewWorkerSummary(l.plan, l.worker)
		s.Failure = &trial.Failure{Class: trial.Class(class), Message: message, Field: message, Remedy: message}
		b, err := json.Marshal(s)
		if err != nil {
			return nil
		}
		return b
	}
}

var bombs = map[string]bomb{
	"empty trials, millions of them":         summary(`"trials":[` + repeated("{}", large) + `]`),
	"empty attempts, millions of them":       summary(`"attempts":[` + repeated("{}", large) + `]`),
	"workloads with empty histograms":        summary(`"workloads":[` + repeated(`{"histograms":{"":{}}}`, large) + `]`),
	"a histogram of millions of buckets":     summary(`"workloads":[{"workload":"mixed","histograms":{"read":[` + repeated("1", large) + `]}}]`),
	"histograms of a million operations":     millionOperations,
	"lists in lists":                         summary(`"trials":` + strings.Repeat("[", large)),
	"objects in objects":                     summary(`"failure":` + strings.Repeat(`{"a":`, large/5)),
	"numbers that no float holds":            summary(`"planned":` + strings.Repeat("9", large)),
	"an exponent without end":                summary(`"trials":[{"id":"x","metrics":{"read.iops":{"unit":"1/s","value":1e999999}}}]`),
	"NaN":                                    summary(`"trials":[{"id":"x","metrics":{"read.iops":{"unit":"1/s","value":NaN}}}]`),
	"the largest floats":                     hugeNumbers,
	"negative counts":                        summary(`"planned":-9223372036854775808,"attempts":[{"attempt":-1}]`),
	"members twice, thrice, a million times": summary(repeated(`"run":"other"`, large)),
	"one string of all the bytes":            summary(`"version":"` + strings.Repeat("x", large) + `"`),
	"32 MiB and a byte":                      func(loot) []byte { return make([]byte, 32*mib+1) },
	"a class of 65 characters":               failure(strings.Repeat("X", 65), "message"),
	"a class that is no word":                failure("Not a reason!", "message"),
	"the class of a success":                 failure(reason.Finished, "message"),
	"a message of a megabyte":                failure(reason.WorkloadFailed, strings.Repeat("message ", mib/8)),
	"a message that controls a terminal":     failure(reason.WorkloadFailed, "\x1b[2J\x1b]0;owned\x07\r\n\u202e\x00"),
	"another worker's summary": func(l loot) []byte {
		b, err := json.Marshal(result.NewWorkerSummary(l.plan, trial.Worker{Name: "other.node", Target: "other", Node: "node"}))
		if err != nil {
			return nil
		}
		return b
	},
	"null":  func(loot) []byte { return []byte("null") },
	nothing: func(loot) []byte { return nil },
}

func millionOperations(l loot) []byte {
	var all strings.Builder
	for i := 0; all.Len() < large-mib; i++ {
		fmt.Fprintf(&all, `"%x":{},`, i)
	}
	return summary(`"workloads":[{"workload":"mixed","histograms":{` + strings.TrimSuffix(all.String(), ",") + `}}]`)(l)
}

func hugeNumbers(l loot) []byte {
	s := result.NewWorkerSummary(l.plan, l.worker)
	for _, t := range l.plan.Trials {
		s.Trials = append(s.Trials, result.TrialSummary{Trial: t, Metrics: result.Metrics{
			"read.iops": {Unit: result.PerSecond, Value: math.MaxFloat64}, "read.latency.p99": {Unit: result.Seconds, Value: -math.MaxFloat64},
			"read.bandwidth": {Unit: "a unit of " + strings.Repeat("x", mib), Value: 5e-324},
		}})
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return b
}

// A forged summary, with a receipt that vouches for it. The benchmark ends; the operator
// goes on, and its status stays small.
func TestUploadOfForgedSummaries(t *testing.T) {
	t.Parallel()
	for what, build := range bombs {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, "a summary with "+what)
			m, b, l := a.plunderWorker("bomb", slow, threeTrials)
			body := build(l)
			if len(body) == 0 && what != nothing {
				t.Fatal("there is no such summary to upload")
			}
			m.stopWorker(l)
			status, err := l.upload(a.ctx, l.keys.WorkerSummary(l.worker.Name), body)
			switch cut := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET); {
			case len(body) > result.MaxWorkerSummary && (cut || err == nil && status >= 400 && status < 500):
				t.Logf("the store refuses what is too large: HTTP %d %v", status, err)
			case err != nil || status >= 300:
				t.Errorf("the summary was not uploaded: HTTP %d %v", status, err)
			}
			m.forgeEnd(b, l, l.receipt(trial.Digest(body)))
		})
	}
}

func threeTrials(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 3 }

// forgeEnd gives a stopped worker a forged Pod with a receipt, and checks that the run ends and
// that the operator works on.
func (m *tenant) forgeEnd(b *v1alpha1.StorageBenchmark, l loot, receipt string) {
	m.t.Helper()
	pod, ran := m.forgePod(l, receipt), false
	m.eventually("the forged Pod has written its receipt, or the run has ended", func() error {
		err := m.api.Get(m.ctx, client.ObjectKeyFromObject(pod), pod)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		for _, c := range pod.Status.ContainerStatuses {
			if t := c.State.Terminated; err == nil && t != nil {
				if ran = t.ExitCode == 0; !ran {
					m.t.Errorf("the forged Pod could not write its receipt: %+v", t)
				}
				return nil
			}
		}
		if err := admin.Get(m.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Run == nil || b.Status.Run.FinishedAt == nil {
			return fmt.Errorf("%s; %s", pod.Status.Phase, cluster.Words(b))
		}
		return nil
	})
	// A run that has ended otherwise may not have met the receipt at all.
	if c := m.endsSmall(b); !ran && c.Reason != reason.ResultsRejected {
		m.t.Errorf("nobody saw the forged receipt: the run ended with %s: %s", c.Reason, c.Message)
	}
	m.serves()
	m.remove(b)
}

// endsSmall waits until an attacked run has ended, and checks that its status is small and without
// control characters.
func (a *attack) endsSmall(b *v1alpha1.StorageBenchmark) metav1.Condition {
	a.t.Helper()
	c := a.ended(b)
	a.t.Logf("it ended with %s: %.300s", c.Reason, c.Message)
	document, err := json.Marshal(b.Status)
	if err != nil {
		a.t.Fatal(err)
	}
	if len(document) > 64<<10 {
		a.succeeded("the status has %d bytes", len(document))
	}
	for _, bad := range []string{`\u001b`, `\u202e`, "\u202e", `\u0007`} {
		if strings.Contains(string(document), bad) {
			a.succeeded("the status has the control character %s: %.300q", bad, c.Message)
		}
	}
	if failed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); failed.Reason == reason.Finished && b.Status.Headline == "" {
		a.t.Logf("without a headline")
	}
	return c
}

// Trial documents are read when the summary does not know the trials.
func TestUploadOfForgedTrials(t *testing.T) {
	t.Parallel()
	a := begin(t, "60 trial documents of the largest size, and no summary")
	m, b, l := a.plunderWorker("trials", slow, func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 60 })
	body := []byte(`{"schema":"` + result.TrialSchema + `","metrics":{"a":{}},"histograms":{"read":[` + repeated("1", result.MaxTrial-4096) + `]}}`)
	stored := 0
	for _, tr := range l.plan.Trials {
		if status, err := l.upload(a.ctx, l.keys.Trial(l.worker.Name, tr.ID), body); err == nil && status < 300 {
			stored++
		}
	}
	if stored == 0 {
		t.Error("the store took none of the documents")
	}
	m.stopWorker(l)
	m.forgeEnd(b, l, l.receipt(""))
}

// What a Pod writes to its termination log is the tenant's.
func TestUploadOfForgedReceipts(t *testing.T) {
	t.Parallel()
	for what, receipt := range map[string]func(l loot) string{
		"4 KiB of garbage": func(loot) string { return strings.Repeat("\x01\xffgarbage", 450) },
		"lists in lists":   func(loot) string { return strings.Repeat("[", 4096) },
		"negative counts": func(l loot) string {
			return strings.NewReplacer(`"planned":`, `"planned":-`, `"stored":`, `"stored":-`).Replace(l.receipt(""))
		},
		"more than planned": func(l loot) string { return strings.Replace(l.receipt(""), `"stored":`, `"stored":99999999`, 1) },
		"the wrong digest":  func(l loot) string { return l.receipt(trial.Digest([]byte("other"))) },
		"another run":       func(l loot) string { return strings.Replace(l.receipt(""), l.plan.Run, "other", 1) },
		"a class of its own": func(l loot) string {
			return strings.Replace(l.receipt(""), `"restored":true`, `"failure":{"class":"`+strings.Repeat("Y", 65)+`","message":"m"}`, 1)
		},
		"a failure with escapes": func(l loot) string {
			return strings.Replace(l.receipt(""), `"restored":true`, `"failure":{"class":"WorkloadFailed","message":"\u001b[2J\u202e","remedy":"`+strings.Repeat("r", 2000)+`"}`, 1)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, "a receipt with "+what)
			m, b, l := a.plunderWorker("receipt", slow, threeTrials)
			forged := receipt(l)
			if forged == l.receipt("") {
				t.Fatal("the forged receipt is like the honest one")
			}
			m.stopWorker(l)
			m.forgeEnd(b, l, forged)
		})
	}
}

// The grant is for the worker's objects, of their sizes, and no others.
func TestQuickGrantForOtherObjects(t *testing.T) {
	t.Parallel()
	group := begin(t, "the run's summary is stored with the worker's grant")
	m, b, l := group.plunderWorker("grant", slow)
	own := l.keys.Trial(l.worker.Name, l.plan.Trials[0].ID)
	status, err := l.upload(group.ctx, own, []byte("{}"))
	if err == nil && status >= 300 {
		err = fmt.Errorf("HTTP %d", status)
	}
	group.control("the worker's own object is stored", err)
	try := func(a *attack, key string, body []byte) {
		status, err := l.forKey(a.ctx, own, key, body)
		m.must(err)
		switch {
		case status < 300:
			a.succeeded("HTTP %d", status)
		case status != http.StatusForbidden && status != http.StatusBadRequest:
			a.t.Errorf("the store answers neither that it is forbidden nor that it is wrong: HTTP %d", status)
		}
	}
	try(group, l.keys.Summary(), []byte("{}"))
	other := trial.Keys{Namespace: bystanders, Name: "other", Run: "g1-0"}
	for what, key := range map[string]string{
		"the run's plan is replaced with the worker's grant":             l.keys.Plan(),
		"what the operator accepted is replaced with the worker's grant": l.keys.Accepted(l.worker.Name),
		"another worker's trial is stored with the worker's grant":       l.keys.Trial("ext4.other", "t1"),
		"another benchmark's summary is stored with the worker's grant":  other.Summary(),
		"a key with .. is stored with the worker's grant":                l.keys.Prefix() + "../../x",
	} {
		t.Run(what, func(t *testing.T) { try(begin(t, what), key, []byte("{}")) })
	}
	t.Run("an object of another namespace is read with the worker's grant", func(t *testing.T) {
		a := begin(t, "an object of another namespace is read with the worker's grant")
		signed := l.grant.Get[own]
		u := strings.Replace(signed, own, other.Summary(), 1)
		if u == signed {
			t.Fatalf("the grant has no URL for reading %s", own)
		}
		status, err := l.get(a.ctx, u)
		m.must(err)
		if status != http.StatusForbidden {
			a.succeeded("HTTP %d", status)
		}
		status, err = l.get(a.ctx, signed)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("HTTP %d", status)
		}
		a.control("the worker's own object is read", err)
	})
	group.remove(b)
}

// After the end, what was concluded stays, whatever is uploaded.
func TestQuickUploadAfterTheEnd(t *testing.T) {
	t.Parallel()
	a := begin(t, "the grant is used after the run's end")
	m, b, l := a.plunderWorker("done", threeTrials)
	if c := a.ended(b); c.Reason != reason.Finished {
		t.Fatalf("%+v", c)
	}
	before, err := m.bucket().Get(a.ctx, l.keys.Summary())
	m.must(err)
	status, err := json.Marshal(b.Status)
	m.must(err)
	for _, key := range []string{l.keys.WorkerSummary(l.worker.Name), l.keys.Trial(l.worker.Name, l.plan.Trials[0].ID)} {
		code, err := l.upload(a.ctx, key, []byte(`{"schema":"forged"}`))
		m.must(err)
		if code >= 300 && code != http.StatusForbidden {
			t.Errorf("%s was neither stored nor forbidden: HTTP %d", key, code)
		}
	}
	m.must(change(m, b.DeepCopy(), func(b *v1alpha1.StorageBenchmark) { b.Annotations = map[string]string{"wake": "up"} }))
	a.serves()
	after, err := m.bucket().Get(a.ctx, l.keys.Summary())
	m.must(err)
	m.must(admin.Get(a.ctx, client.ObjectKeyFromObject(b), b))
	now, err := json.Marshal(b.Status)
	m.must(err)
	if !bytes.Equal(after, before) || !bytes.Equal(now, status) {
		a.succeeded("the run's summary or status changed: %v %s, was %s", !bytes.Equal(after, before), now, status)
	}
	a.remove(b)
}

func (l loot) get(ctx context.Context, signed string) (int, error) {
	request, err := newGet(ctx, signed)
	if err != nil {
		return 0, err
	}
	return l.send(request)
}

package trial

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Class says what kind of failure it was. The operator uses the classes as
// condition reasons, so they are the same words.
type Class string

// Classes of failures that a worker reports.
const (
	InvalidJobFile   Class = "InvalidJobFile"
	InvalidSpec      Class = "InvalidSpec"
	PlanTampered     Class = "PlanTampered"
	TargetTooSmall   Class = "TargetTooSmall"
	TargetHoldsData  Class = "TargetHoldsData"
	TargetUnusable   Class = "TargetUnusable"
	NoSpace          Class = "NoSpace"
	EngineRefused    Class = "EngineRefused"
	WorkloadFailed   Class = "WorkloadFailed"
	ResultsNotStored Class = "ResultsNotStored"
	TimedOut         Class = "TimedOut"
	InternalError    Class = "InternalError"
	// TunableNotPermitted: no policy permits to change what the target is on.
	TunableNotPermitted Class = "TunableNotPermitted"
	// TunableNotApplied: a setting could not be made, or was not taken. What was set
	// before it has been put back.
	TunableNotApplied Class = "TunableNotApplied"
	// TunablesNotRestored: a setting of the node is not what it was before.
	TunablesNotRestored Class = "TunablesNotRestored"
)

// Failure is an error with a class, the field of the spec that it is about, and
// what to do. It travels in receipts and result documents.
type Failure struct {
	Class Class `json:"class"`
	// Field is a path in the StorageBenchmark, like spec.workloads[oltp].fio.jobFile,
	// or empty.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// Workload that failed, or empty if the worker as a whole did.
	Workload string `json:"workload,omitempty"`
	// Err is the cause, for errors.Is and errors.As on this side.
	Err error `json:"-"`
}

// Error gives the failure as one sentence: field, message, remedy.
func (f *Failure) Error() string {
	s := f.Message
	if f.Field != "" {
		s = f.Field + ": " + s
	}
	if f.Remedy != "" {
		s += "; " + f.Remedy
	}
	return s
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// AsFailure returns the Failure in err's chain, or an InternalError that wraps err.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Class: InternalError, Message: err.Error(), Err: err}
}

// LosesData refuses a setting that can lose data and that the variant does not accept.
func LosesData(variant, name, value, why string) *Failure {
	return &Failure{
		Class: InvalidSpec, Field: "spec.variants[" + variant + "].acceptDataLoss",
		Message: fmt.Sprintf("%s=%s can lose data: %s", name, value, why),
		Remedy:  "set acceptDataLoss: true if nothing on this storage is needed, or choose another value",
	}
}

// ReceiptSchema is the version of the Receipt.
const ReceiptSchema = "storagebench.io/receipt.v1"

// MaxReceipt is the size in bytes that Kubernetes keeps of a termination message.
const MaxReceipt = 4096

// Receipt is a worker's termination message.
type Receipt struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	Worker string `json:"worker"`
	// SummaryDigest is the digest of the worker's summary.json in the store, or
	// empty if it could not be stored.
	SummaryDigest string `json:"summaryDigest,omitempty"`
	Planned       int    `json:"planned"`
	// Stored counts the trials whose documents are in the store.
	Stored int `json:"stored"`
	// Restored says that every setting of the node is what it was before, and that
	// the node's journal is empty.
	Restored bool `json:"restored,omitempty"`
	// Failure is the first failure, or nil if every trial was measured and stored.
	Failure *Failure `json:"failure,omitempty"`
}

// Encode returns the receipt's JSON, in at most MaxReceipt bytes: a message that
// is too long is cut.
func (r Receipt) Encode() ([]byte, error) {
	r.Schema = ReceiptSchema
	b, err := json.Marshal(r)
	for cut := 2048; err == nil && len(b) > MaxReceipt && cut >= 64; cut /= 2 {
		f := *r.Failure
		f.Message, f.Remedy = truncate(f.Message, cut), truncate(f.Remedy, cut)
		r.Failure = &f
		b, err = json.Marshal(r)
	}
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return b, nil
}

// DecodeReceipt reads a termination message. It is untrusted input: whoever can
// run a program in the Pod can write it.
func DecodeReceipt(message string) (*Receipt, error) {
	if len(message) > MaxReceipt {
		return nil, fmt.Errorf("receipt: %d bytes are more than a termination message holds", len(message))
	}
	r := &Receipt{}
	if err := json.Unmarshal([]byte(message), r); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if r.Schema != ReceiptSchema {
		return nil, fmt.Errorf("receipt: its schema is %q, and this program reads %q", r.Schema, ReceiptSchema)
	}
	return r, nil
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 { // not inside a UTF-8 sequence
		n--
	}
	return s[:n] + "…"
}

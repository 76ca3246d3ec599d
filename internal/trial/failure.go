package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"storagebench.io/storagebench/api/reason"
)

// Class is the kind of a failure: one of the words of package reason, because the
// operator uses classes as reasons of conditions.
type Class string

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

// Limits in bytes for the texts of a failure that another program wrote.
const (
	maxMessage = 2048
	maxWords   = 512
)

// classPattern is what a class looks like, the same as a condition's reason.
var classPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// Bound shortens the texts of a failure that another program may have written to what
// fits a status. It returns an error if the class does not match classPattern. f may be
// nil.
func (f *Failure) Bound() error {
	if f == nil {
		return nil
	}
	if !classPattern.MatchString(string(f.Class)) {
		return fmt.Errorf("failure.class %.64q is not a valid reason: expected letters and digits, with a capital first, and at most 64 characters", f.Class)
	}
	f.Message, f.Remedy = truncate(f.Message, maxMessage), truncate(f.Remedy, maxWords)
	f.Field, f.Workload = truncate(f.Field, maxWords), truncate(f.Workload, maxWords)
	return nil
}

// AsFailure returns the Failure in err's chain, or an InternalError that wraps err.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Class: reason.InternalError, Message: err.Error(), Err: err}
}

// LosesData is the failure of a variant that sets a value which can lose data without
// accepting that.
func LosesData(variant, name, value, why string) *Failure {
	return &Failure{
		Class: reason.InvalidSpec, Field: "spec.variants[" + variant + "].acceptDataLoss",
		Message: fmt.Sprintf("%s=%s can lose data: %s", name, value, why),
		Remedy:  "set acceptDataLoss: true if you do not need the data on this storage, or choose another value",
	}
}

// ReceiptSchema is the version of the Receipt.
const ReceiptSchema = "storagebench.io/receipt.v1"

// MaxReceipt is how many bytes of a termination message Kubernetes keeps.
const MaxReceipt = 4096

// ExitFailed is the exit code of a worker whose successor would fail in the same way; its receipt says why. After any other
// code its Job starts another Pod. It cannot be 2: that is how Go ends the first process of a container that is stopped
// before it waits for signals.
const ExitFailed int32 = 1

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
	// Restored reports that every setting of the node has its old value again and
	// that the node's journal is empty.
	Restored bool `json:"restored,omitempty"`
	// Failure is the first failure, or nil if every trial was measured and stored.
	Failure *Failure `json:"failure,omitempty"`
}

// Encode returns the receipt's JSON in at most MaxReceipt bytes. It shortens texts that are
// too long as JSON, where a control character takes six bytes.
func (r Receipt) Encode() ([]byte, error) {
	r.Schema = ReceiptSchema
	b, err := json.Marshal(r)
	for limit := maxMessage; err == nil && len(b) > MaxReceipt && limit > 0; limit /= 2 {
		r.Run, r.Worker = truncateEncoded(r.Run, min(limit, maxWords)), truncateEncoded(r.Worker, min(limit, maxWords))
		if r.Failure != nil {
			f := *r.Failure
			f.Message, f.Remedy = truncateEncoded(f.Message, limit), truncateEncoded(f.Remedy, min(limit, maxWords))
			f.Field, f.Workload = truncateEncoded(f.Field, min(limit, maxWords)), truncateEncoded(f.Workload, min(limit, maxWords))
			r.Failure = &f
		}
		b, err = json.Marshal(r)
	}
	if err == nil && len(b) > MaxReceipt {
		err = fmt.Errorf("it has %d bytes, the limit is %d", len(b), MaxReceipt)
	}
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return b, nil
}

// truncateEncoded shortens s so that it takes at most n bytes as a JSON string, without the
// quotes and the mark that something is missing.
func truncateEncoded(s string, n int) string {
	for i, r := range s {
		if n -= encodedLen(r); n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// encodedLen is how many bytes encoding/json takes for a character in a string.
func encodedLen(r rune) int {
	switch {
	case strings.ContainsRune("\"\\\b\f\n\r\t", r):
		return 2
	case r < ' ', strings.ContainsRune("<>&\u2028\u2029", r), r == utf8.RuneError:
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// DecodeReceipt reads a termination message. The message is untrusted: whoever can run
// a program in the Pod can write it. The receipt returned is bounded and consistent in
// itself; Check tells whether it is from the expected worker.
func DecodeReceipt(message string) (*Receipt, error) {
	if len(message) > MaxReceipt {
		return nil, fmt.Errorf("receipt: it has %d bytes, the limit is %d", len(message), MaxReceipt)
	}
	r := &Receipt{}
	if err := json.Unmarshal([]byte(message), r); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if r.Schema != ReceiptSchema {
		return nil, fmt.Errorf("receipt: its schema is %.64q, expected %q", r.Schema, ReceiptSchema)
	}
	switch {
	case r.Planned < 0 || r.Stored < 0 || r.Stored > r.Planned:
		return nil, fmt.Errorf("receipt: it reports %d stored of %d planned trials, which is impossible", r.Stored, r.Planned)
	case r.SummaryDigest != "" && !digestPattern.MatchString(r.SummaryDigest):
		return nil, fmt.Errorf("receipt: summaryDigest %.80q is not a SHA-256 digest", r.SummaryDigest)
	}
	if err := r.Failure.Bound(); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return r, nil
}

// Check returns an error unless the receipt is from this worker of the plan's run.
func (r *Receipt) Check(p *Plan, worker string) error {
	// A worker that could not read its plan does not know the run's ID.
	withoutPlan := r.Run == "" && r.Planned == 0 && r.Failure != nil
	if withoutPlan && r.Worker == worker {
		return nil
	}
	if r.Run != p.Run || r.Worker != worker {
		return fmt.Errorf("receipt: it is from worker %.64q of run %.64q, expected worker %q of run %q", r.Worker, r.Run, worker, p.Run)
	}
	if r.Planned != len(p.Trials) {
		return fmt.Errorf("receipt: it reports %d planned trials, but the plan has %d", r.Planned, len(p.Trials))
	}
	return nil
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 { // never cut inside a UTF-8 sequence
		n--
	}
	return s[:n] + "…"
}

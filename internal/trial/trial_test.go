package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestAPlanThatWasPutInThePlaceOfAnotherIsRefused(t *testing.T) {
	p := &Plan{Schema: PlanSchema, Run: "g1", Targets: []Target{{Name: "disk", Ref: "/dev/loop7"}}}
	document, digest, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodePlan(document, digest); err != nil || back.Run != "g1" {
		t.Fatalf("the plan itself: %v", err)
	}
	other := []byte(strings.Replace(string(document), "/dev/loop7", "/dev/sda1", 1))
	failure, ok := errors.AsType[*Failure](func() error { _, err := DecodePlan(other, digest); return err }())
	if !ok || failure.Class != PlanTampered {
		t.Errorf("got %v", failure)
	}
	if _, err := DecodePlan([]byte(`{"schema":"storagebench.io/plan.v9"}`), ""); err == nil {
		t.Error("a plan of another version was accepted")
	}
}

func TestAReceiptAlwaysFitsATerminationMessage(t *testing.T) {
	for _, n := range []int{0, 100, 5000, 100_000} {
		long := strings.Repeat("é\n", n)
		r := Receipt{Run: "g1", Worker: "fast.a", Stored: 7, Failure: &Failure{Class: NoSpace, Field: "spec.x", Message: long, Remedy: long}}
		b, err := r.Encode()
		if err != nil || len(b) > MaxReceipt {
			t.Fatalf("n=%d: %d bytes, %v", n, len(b), err)
		}
		back, err := DecodeReceipt(string(b))
		if err != nil || back.Stored != 7 || back.Failure.Class != NoSpace || strings.Contains(back.Failure.Message, "�") {
			t.Errorf("n=%d: %+v, %v", n, back, err)
		}
	}
}

func TestForeignTerminationMessagesAreNoReceipts(t *testing.T) {
	for _, message := range []string{"", "panic: x", "{}", `{"schema":"other"}`, strings.Repeat(" ", MaxReceipt+1)} {
		if r, err := DecodeReceipt(message); err == nil {
			t.Errorf("%.20q was read as %+v", message, r)
		}
	}
}

func TestAFailureReadsAsOneSentenceAndKeepsItsCause(t *testing.T) {
	f := &Failure{Class: NoSpace, Field: "spec.targets[fast]", Message: "it is full", Remedy: "make it larger", Err: fs.ErrPermission}
	if got := f.Error(); got != "spec.targets[fast]: it is full; make it larger" {
		t.Error(got)
	}
	wrapped := fmt.Errorf("trial 3: %w", f)
	if AsFailure(wrapped) != f || !errors.Is(wrapped, fs.ErrPermission) {
		t.Error("the failure is lost in the chain")
	}
	if other := AsFailure(fs.ErrClosed); other.Class != InternalError || !errors.Is(other, fs.ErrClosed) {
		t.Errorf("%+v", other)
	}
}

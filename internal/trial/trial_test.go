package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
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
	if !ok || failure.Class != reason.PlanTampered {
		t.Errorf("got %v", failure)
	}
	if _, err := DecodePlan([]byte(`{"schema":"storagebench.io/plan.v9"}`), ""); err == nil {
		t.Error("a plan of another version was accepted")
	}
}

func TestATargetThatThePlanLacksIsNamed(t *testing.T) {
	p := &Plan{Workers: []Worker{{Name: "w", Target: "disk"}}}
	if _, _, err := p.Worker("w"); err == nil || err.Error() != "plan: target disk of worker w is not in the plan" {
		t.Errorf("got %v", err)
	}
}

func TestAGrantThatWasPutInThePlaceOfAnotherIsRefused(t *testing.T) {
	g := &Grant{Get: map[string]string{"a": "https://store.example.com/a"}}
	document, digest, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeGrant(document, digest); err != nil || back.Get["a"] != g.Get["a"] {
		t.Fatalf("the grant itself: %v", err)
	}
	other := []byte(strings.Replace(string(document), "store.example.com", "169.254.169.254", 1))
	for name, wanted := range map[string]string{"the operator's": digest, "none": ""} {
		_, err := DecodeGrant(other, wanted)
		if failure, ok := errors.AsType[*Failure](err); !ok || failure.Class != reason.GrantTampered {
			t.Errorf("with %s digest: %v", name, err)
		}
	}
}

func TestAReceiptAlwaysFitsATerminationMessage(t *testing.T) {
	for _, n := range []int{0, 100, 5000, 100_000} {
		long := strings.Repeat("é\n", n)
		r := Receipt{Run: "g1", Worker: "fast.a", Planned: 9, Stored: 7, Failure: &Failure{Class: reason.NoSpace, Field: "spec.x", Message: long, Remedy: long}}
		b, err := r.Encode()
		if err != nil || len(b) > MaxReceipt {
			t.Fatalf("n=%d: %d bytes, %v", n, len(b), err)
		}
		back, err := DecodeReceipt(string(b))
		if err != nil || back.Stored != 7 || back.Failure.Class != reason.NoSpace || strings.Contains(back.Failure.Message, "�") {
			t.Errorf("n=%d: %+v, %v", n, back, err)
		}
	}
}

// Whatever the texts hold, Kubernetes keeps the whole receipt.
func TestAReceiptOfHostileTextsFits(t *testing.T) {
	for name, text := range map[string]string{
		"control characters": "\x1b", "NUL": "\x00", "quotes": `"\`, "HTML": "<", "invalid UTF-8": "\xff", "separators": "\u2028", "four bytes": "😀", "letters": "x",
	} {
		long := strings.Repeat(text, 8<<10/len(text))
		for where, receipt := range map[string]Receipt{
			"everywhere":   {Run: long, Worker: long, SummaryDigest: Digest(nil), Failure: &Failure{Class: reason.NoSpace, Field: long, Message: long, Remedy: long, Workload: long}},
			"the field":    {Failure: &Failure{Class: reason.NoSpace, Field: long, Message: "full"}},
			"the workload": {Failure: &Failure{Class: reason.NoSpace, Workload: long, Message: "full"}},
			"the message":  {Failure: &Failure{Class: reason.NoSpace, Message: long}},
			"no failure":   {Run: long, Worker: long},
		} {
			b, err := receipt.Encode()
			if err != nil || len(b) > MaxReceipt {
				t.Errorf("%s in %s: %d bytes, %v", name, where, len(b), err)
				continue
			}
			r, err := DecodeReceipt(string(b))
			switch {
			case err != nil:
				t.Errorf("%s in %s: %v", name, where, err)
			case receipt.Failure != nil && r.Failure.Message == "" || where == "the message" && len(b) < MaxReceipt/4:
				t.Errorf("%s in %s: too much was cut: %s", name, where, b)
			}
		}
	}
	for r := range rune(0x3000) {
		if b, err := json.Marshal(string(r)); err != nil || len(b)-2 != encodedLen(r) {
			t.Errorf("%U takes %d bytes, not %d (%v)", r, len(b)-2, encodedLen(r), err)
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
	f := &Failure{Class: reason.NoSpace, Field: "spec.targets[fast]", Message: "it is full", Remedy: "make it larger", Err: fs.ErrPermission}
	if got := f.Error(); got != "spec.targets[fast]: it is full; make it larger" {
		t.Error(got)
	}
	wrapped := fmt.Errorf("trial 3: %w", f)
	if AsFailure(wrapped) != f || !errors.Is(wrapped, fs.ErrPermission) {
		t.Error("the failure is lost in the chain")
	}
	if other := AsFailure(fs.ErrClosed); other.Class != reason.InternalError || !errors.Is(other, fs.ErrClosed) {
		t.Errorf("%+v", other)
	}
}

func TestAForgedReceiptIsRefused(t *testing.T) {
	digest := Digest(nil)
	for name, c := range map[string]struct {
		receipt Receipt
		wrong   bool // for the worker, but a receipt
		refused bool
	}{
		"our own":                  {receipt: Receipt{Run: "r", Worker: "w", Planned: 2, Stored: 1, SummaryDigest: digest}},
		"of a plan not taken":      {receipt: Receipt{Worker: "w", Failure: &Failure{Class: reason.PlanTampered}}},
		"without a run":            {receipt: Receipt{Worker: "w"}, wrong: true},
		"another run":              {receipt: Receipt{Run: "s", Worker: "w", Planned: 2}, wrong: true},
		"another worker":           {receipt: Receipt{Run: "r", Worker: "v", Planned: 2}, wrong: true},
		"another plan":             {receipt: Receipt{Run: "r", Worker: "w", Planned: 3}, wrong: true},
		"negative":                 {receipt: Receipt{Planned: 2, Stored: -1}, refused: true},
		"more than planned":        {receipt: Receipt{Planned: 2, Stored: 3}, refused: true},
		"no digest":                {receipt: Receipt{SummaryDigest: "sha256:" + strings.Repeat("A", 64)}, refused: true},
		"a class of 65 characters": {receipt: Receipt{Failure: &Failure{Class: Class(strings.Repeat("A", 65))}}, refused: true},
		"a class with a newline":   {receipt: Receipt{Failure: &Failure{Class: "A\n"}}, refused: true},
	} {
		message, err := c.receipt.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r, err := DecodeReceipt(string(message))
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if err := r.Check(&Plan{Run: "r", Trials: make([]Trial, 2)}, "w"); (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeReceipt(f *testing.F) {
	f.Add(`{"schema":"storagebench.io/receipt.v1","run":"r","worker":"w","planned":2,"stored":1,"failure":{"class":"NoSpace","message":"m"}}`)
	f.Fuzz(func(t *testing.T, message string) {
		r, err := DecodeReceipt(message)
		if err != nil {
			return
		}
		if r.Stored < 0 || r.Stored > r.Planned || r.Failure != nil && (r.Failure.Class == "" || len(r.Failure.Class) > 64) {
			t.Fatalf("%+v", r)
		}
		_ = r.Check(&Plan{}, "w")
	})
}

func TestAProbeIsItsWorkloadAtAnotherRate(t *testing.T) {
	w := Workload{Name: "w", Config: json.RawMessage(`{"size":18446744073709551615,"offeredRate":1}`)}
	if at, err := w.At(0); err != nil || string(at.Config) != string(w.Config) {
		t.Errorf("at its own rate: %s, %v", at.Config, err)
	}
	if at, err := w.At(250); err != nil || string(at.Config) != `{"offeredRate":250,"size":18446744073709551615}` {
		t.Errorf("at 250: %s, %v", at.Config, err)
	}
	w.Config = json.RawMessage(`[]`)
	if _, err := w.At(250); err == nil || !strings.Contains(err.Error(), "workload w") {
		t.Errorf("a configuration that is no object: %v", err)
	}
}

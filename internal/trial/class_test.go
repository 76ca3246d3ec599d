package trial

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAClassIsRecordedWithoutItsSecrets(t *testing.T) {
	c := ClassIdentity{
		Provisioner: "driver.example.com", BindingMode: "WaitForFirstConsumer", Reclaim: "Delete", MountOptions: []string{"noatime"},
		Parameters: map[string]string{
			"pool": "fast", "csi.storage.k8s.io/provisioner-secret-name": "s", "csi.storage.k8s.io/provisioner-secret-namespace": "n",
			"restuserkey": "password", "adminSecretName": "a",
		},
	}
	got := NewClassIdentity(c)
	want := &ClassIdentity{
		Provisioner: "driver.example.com", BindingMode: "WaitForFirstConsumer", Reclaim: "Delete", MountOptions: []string{"noatime"},
		Parameters: map[string]string{"pool": "fast"}, Digest: got.Digest,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(c.Parameters) != 5 {
		t.Error("the class of the caller was changed")
	}
}

func TestTheDigestOfAClassTellsEveryDifference(t *testing.T) {
	base := func() ClassIdentity {
		return ClassIdentity{Provisioner: "p", BindingMode: "Immediate", Reclaim: "Delete", MountOptions: []string{"a", "b"}, Parameters: map[string]string{"k": "v"}}
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*ClassIdentity){
		"nothing":        func(*ClassIdentity) {},
		"provisioner":    func(c *ClassIdentity) { c.Provisioner = "q" },
		"parameter":      func(c *ClassIdentity) { c.Parameters["k"] = "w" },
		"one more":       func(c *ClassIdentity) { c.Parameters["l"] = "" },
		"mount options":  func(c *ClassIdentity) { c.MountOptions = []string{"b", "a"} },
		"binding mode":   func(c *ClassIdentity) { c.BindingMode = "WaitForFirstConsumer" },
		"reclaim policy": func(c *ClassIdentity) { c.Reclaim = "Retain" },
		"far behind":     func(c *ClassIdentity) { c.Parameters["k"] = strings.Repeat("v", 300) },
		"farther behind": func(c *ClassIdentity) { c.Parameters["k"] = strings.Repeat("v", 301) },
	} {
		c := base()
		change(&c)
		digest := NewClassIdentity(c).Digest
		if other, ok := seen[digest]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
	c := base()
	c.Parameters["some-secret-name"] = "other"
	if seen[NewClassIdentity(c).Digest] != "nothing" {
		t.Error("the name of a secret changes the digest")
	}
}

func TestALargeClassIsBounded(t *testing.T) {
	c := ClassIdentity{Provisioner: strings.Repeat("ä", 1000), Parameters: map[string]string{}}
	for i := range 512 {
		c.Parameters[fmt.Sprint("name", i)] = strings.Repeat("x", 1000)
		c.MountOptions = append(c.MountOptions, strings.Repeat("o", 1000))
	}
	got := NewClassIdentity(c)
	if len(got.Parameters) != maxClassEntries || len(got.MountOptions) != maxClassEntries || len(got.Provisioner) != maxClassText {
		t.Errorf("%d parameters, %d options, %d bytes of a name", len(got.Parameters), len(got.MountOptions), len(got.Provisioner))
	}
	for _, v := range got.Parameters {
		if len(v) > maxClassText {
			t.Errorf("a value of %d bytes", len(v))
		}
	}
}

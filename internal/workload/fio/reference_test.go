package fio

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheReferenceIsUpToDate(t *testing.T) {
	var want bytes.Buffer
	if err := WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/reference/fio-options.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf(`run "go generate ./internal/workload/fio":%s`, diff)
	}
}

func TestNoOptionIsBothAllowedAndRefused(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range options() {
		for _, o := range g.options {
			for _, name := range append([]string{o.name}, o.aliases...) {
				if seen[name] {
					t.Errorf("%s is in the table twice", name)
				}
				seen[name] = true
				if refusals()[name] != "" {
					t.Errorf("%s is allowed and has a reason to be refused", name)
				}
			}
		}
	}
}

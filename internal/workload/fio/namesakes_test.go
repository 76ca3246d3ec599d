package fio

import (
	"strings"
	"testing"
)

func TestDifferentJobsOfOneNameAreApart(t *testing.T) {
	small := plainClone("all", "0", `"job options":{"rw":"read","bs":"4k"},`, fewReads)
	large := plainClone("all", "1", `"job options":{"rw":"read","bs":"1m","stonewall":""},`, manyReads)
	m, err := parseOne([]byte(document1(small, small, large)))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Parts) != 2 || m.Parts[0].Name != "all #1" || m.Parts[1].Name != "all #2" {
		t.Fatalf("parts %+v", m.Parts)
	}
	if a, b := m.Parts[0].Metrics["read.iops"].Value, m.Parts[1].Metrics["read.iops"].Value; a != 1000 || b != 1500 {
		t.Errorf("%v and %v IOPS", a, b)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, "2 different jobs are named all") || !strings.Contains(notes, "#2 has bs=1m") {
		t.Errorf("notes %q", notes)
	}
}

func TestClonesKeepTheNameOfTheirJob(t *testing.T) {
	first := plainClone("a", "0", `"job options":{"rw":"read"},`, fewReads)
	m, err := parseOne([]byte(document1(first, plainClone("a", "0", "", fewReads), first)))
	if err != nil || len(m.Parts) != 1 || m.Parts[0].Name != "a" || m.Metrics["read.iops"].Value != 1500 {
		t.Errorf("%+v, %v", m.Parts, err)
	}
}

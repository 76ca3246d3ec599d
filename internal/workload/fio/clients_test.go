package fio

import (
	"strings"
	"testing"
)

func clientDocument(jobs ...string) []byte {
	return []byte(`{"fio version":"fio-3.36","client_stats":[` + strings.Join(jobs, ",") + `]}`)
}

const (
	fewReads  = `"io_bytes":4096000,"total_ios":1000,"runtime":2000,"iops":500`
	manyReads = `"io_bytes":12288000,"total_ios":3000,"runtime":2000,"iops":1500`
	allReads  = `"io_bytes":16384000,"total_ios":4000,"runtime":2000,"iops":2000`
)

func TestTheSumOfAllClientsIsNoMachine(t *testing.T) {
	one := plainClone("a", "0", `"hostname":"east","job options":{"rw":"read","direct":"1"},`, fewReads)
	two := plainClone("a", "0", `"hostname":"west","job options":{"rw":"read","direct":"1"},`, manyReads)
	all := plainClone("All clients", "0", `"hostname":"west",`, allReads)
	for name, text := range map[string][]byte{"last": clientDocument(one, two, all), "first": clientDocument(all, one, two)} {
		reports, err := Parse(text)
		if err != nil || len(reports) != 3 {
			t.Fatalf("%s: %d reports, %v", name, len(reports), err)
		}
		for i, r := range reports {
			if r.Sum != (i == 2) {
				t.Errorf("%s: %s is a sum: %v", name, r.Machine, r.Sum)
			}
		}
		sum := reports[2]
		if sum.Measurement.Metrics["read.iops"].Value != 2000 || sum.Settings["machines"] != "east,west" || sum.Settings["rw"] != "read" || sum.Measurement.DirectIO == nil {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

func TestTheSumOfGroupsThatRanOneAfterTheOtherIsLeftOut(t *testing.T) {
	var jobs []string
	for _, host := range []string{"east", "west"} {
		jobs = append(jobs, plainClone("a", "0", `"hostname":"`+host+`","job options":{"rw":"read"},`, fewReads),
			plainClone("b", "1", `"hostname":"`+host+`","job options":{"rw":"read","stonewall":""},`, fewReads))
	}
	reports, err := Parse(clientDocument(append(jobs, plainClone("All clients", "0", "", allReads))...))
	if err != nil || len(reports) != 2 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	if notes := strings.Join(reports[0].Measurement.Notes, "\n"); !strings.Contains(notes, "sum of all machines is left out") {
		t.Errorf("notes %q", notes)
	}
}

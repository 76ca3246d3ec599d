package spec

import (
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func benchmark(parameters, value string) string {
	return fmt.Sprintf(`
apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: minimal}
spec:
  targets: [{name: fast, storageClass: {name: fast}}]
  workloads: [{name: oltp, fio: {parameters: %s}}]
  variants: [{name: v, tunables: [{name: vm.dirty_ratio, value: %s}]}]
`, parameters, value)
}

func TestANumberMayStandWithoutQuotes(t *testing.T) {
	for _, text := range []string{
		benchmark("{rw: randread, iodepth: 16, size: 10737418240}", "20"),
		benchmark(`{rw: randread, iodepth: "16", size: "10737418240"}`, `"20"`),
	} {
		b, err := Read(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		p := b.Spec.Workloads[0].Fio.Parameters
		if p["iodepth"].Text != "16" || p["size"].Text != "10737418240" {
			t.Errorf("got %v, want iodepth 16 and size 10737418240", p)
		}
		if got := b.Spec.Variants[0].Tunables[0].Value; got.Text != "20" {
			t.Errorf("got %q, want 20", got)
		}
	}
}

// What the schema refuses, with the field and what to do.
func TestWhatIsNeitherANumberNorAStringIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, field, says string }{
		"on, which YAML reads as true": {benchmark("{rw: read}", "on"), "spec.variants[0].tunables[0].value", "in quotes"},
		"true":                         {benchmark("{rw: read, direct: true}", "20"), "spec.workloads[0].fio.parameters.direct", "in quotes"},
		"a fraction":                   {benchmark("{rw: read, percentage_random: 1.5}", "20"), "spec.workloads[0].fio.parameters.percentage_random", "in quotes"},
		"a value with a quote":         {benchmark("{rw: read}", `"a'b"`), "spec.variants[0].tunables[0].value", "1 to 64 of the characters"},
	} {
		_, err := Read(t.Context(), strings.NewReader(c.text))
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		f := trial.AsFailure(err)
		if f.Field != c.field || !strings.Contains(f.Error(), c.says) {
			t.Errorf("%s: got %q at %q, want %q at %q", name, f.Error(), f.Field, c.says, c.field)
		}
	}
}

package spec

import (
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// nightly is a schedule with those lines in its spec, and that workload.
func nightly(lines, fio string) string {
	return fmt.Sprintf(`
apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmarkSchedule
metadata: {name: nightly, namespace: team}
spec:
  %s
  template:
    metadata: {labels: {team: storage}}
    spec:
      targets: [{name: fast, storageClass: {name: fast}}]
      workloads: [{name: oltp, fio: %s}]
      ttlAfterFinished: 1h
`, lines, fio)
}

func TestAScheduleIsReadAsTheBenchmarkThatItMakes(t *testing.T) {
	b, err := Read(t.Context(), strings.NewReader(nightly(`schedule: "30 2 * * *"`, "{preset: etcd}")))
	if err != nil {
		t.Fatal(err)
	}
	if b.Kind != "StorageBenchmark" || b.Name != "nightly" || b.Namespace != "team" || b.Labels["team"] != "storage" || b.Spec.Workloads[0].Fio.Preset != "etcd" {
		t.Errorf("%+v", b)
	}
	if got := Field(b, "spec.workloads[oltp].fio"); got != "spec.template.spec.workloads[oltp].fio" {
		t.Errorf("in its file a field is called %s", got)
	}
	if got := Field(b, "metadata.name"); got != "metadata.name" {
		t.Errorf("the name's field is called %s", got)
	}
}

func TestWhatIsWrongWithAScheduleNamesItsField(t *testing.T) {
	const daily = `schedule: "@daily"`
	for name, c := range map[string]struct{ text, field, says string }{
		"no time":                 {nightly(`schedule: "30 25 * * *"`, "{preset: etcd}"), "spec.schedule", "no cron expression"},
		"a zone":                  {nightly(daily+"\n  timeZone: Europe/Berln", "{preset: etcd}"), "spec.timeZone", "Europe/Berln"},
		"a field":                 {nightly(daily+"\n  jiter: 1m", "{preset: etcd}"), "spec.jiter", "did you mean jitter?"},
		"a field of another name": {nightly(daily+"\n  baseline: {}", "{preset: etcd}"), "spec.baseline", "use one of concurrencyPolicy, "},
		"a field within":          {nightly(daily, "{presett: etcd}"), "spec.template.spec.workloads[0].fio.presett", "did you mean preset?"},
		"a type within":           {nightly(daily, "{parameters: {rw: read, direct: true}}"), "spec.template.spec.workloads[0].fio.parameters.direct", "in quotes"},
		"another":                 {nightly(daily, "{preset: etcd}") + "---" + nightly(daily, "{preset: etcd}"), "", "more than one StorageBenchmarkSchedule"},
		"nothing in a file":       {"# to do\n---\n", "", "the file is empty"},
		"something else":          {"kind: Pod\n---\na: 1\n", "kind", "only Pod, an object without a kind"},
		"another apiVersion":      {strings.Replace(nightly(daily, "{preset: etcd}"), "v1alpha1", "v1", 1), "apiVersion", "is not supported"},
	} {
		_, err := Read(t.Context(), strings.NewReader(c.text))
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		if f := trial.AsFailure(err); f.Field != c.field || !strings.Contains(f.Error(), c.says) {
			t.Errorf("%s: got %q at %q, want %q at %q", name, f.Error(), f.Field, c.says, c.field)
		}
	}
}

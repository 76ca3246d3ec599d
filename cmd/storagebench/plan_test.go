package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const planned3 = header + `spec:
  targets:
  - {name: fast, storageClass: {name: fast, size: 500Gi}}
  placement: {nodes: 2}
  workloads:
  - {name: cached, fio: {parameters: {rw: randread, direct: 0}}}
  - {name: log, fio: {preset: etcd}}
  variants:
  - {name: control}
  - {name: tuned, tunables: [{name: vm.dirty_ratio, value: 5}]}
  trials: {min: 2}
`

func planOf(t *testing.T, file string, args ...string) planDocument {
	t.Helper()
	stdout, stderr, code := output(t, append([]string{"plan", "-f", file, "-o", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var d planDocument
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAPlanShowsSizesFilesTrialsTimeAndBytesWithoutACluster(t *testing.T) {
	file := benchmark(t, planned3)
	d := planOf(t, file, "--memory", "16Gi")
	if len(d.Trials) != 8 || len(d.Workers) != 2 || len(d.Workloads) != 2 || d.Settings[1].Tunables[0].Value != "5" {
		t.Fatalf("%+v", d)
	}
	cached, log := d.Workloads[0], d.Workloads[1]
	if cached.Size == nil || cached.Size.Bytes != 32<<30 || cached.Size.TooSmall || cached.Prepares != 32<<30 || cached.Seconds != 30 || cached.Files[0].Files != "Overwrite" || cached.Writes != 0 {
		t.Errorf("%+v, size %+v", cached, cached.Size)
	}
	if log.Size != nil || log.Files[0].Files != "Fresh" || log.Writes != 22<<20 || log.Prepares != 0 || !log.SecondsAtLeast || log.Trials != 4 {
		t.Errorf("%+v", log)
	}
	if want := uint64(2 * (32<<30 + 4*22<<20)); d.Bytes != want {
		t.Errorf("%d bytes in all, want %d", d.Bytes, want)
	}
	if small := planOf(t, file, "--memory", "1Ti").Workloads[0].Size; small.Bytes != 64<<30 || !small.TooSmall {
		t.Errorf("a huge node: %+v", small)
	}
	if limited := planOf(t, file, "--memory", "1Ti", "--limit", "2Gi").Workloads[0].Size; limited.Bytes != 4<<30 {
		t.Errorf("a limit: %+v", limited)
	}
	if zfs := planOf(t, file, "--memory", "64Gi", "--arc", "8Gi").Workloads[0].Size; zfs.Bytes != 16<<30 {
		t.Errorf("ZFS: %+v", zfs)
	}
	if unknown := planOf(t, file).Workloads[0]; unknown.Size.Bytes != 1<<30 || !strings.Contains(unknown.From, "--memory") {
		t.Errorf("unknown: %+v", unknown)
	}
}

func TestThePlanTableSaysWhy(t *testing.T) {
	stdout, stderr, code := output(t, "plan", "-f", benchmark(t, planned3), "--memory", "1Ti", "--free", "10Gi")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{
		"cached on fast: size: 80 % of the 10 GiB that are free", "the command line", "WorkingSetTooSmall", "spec.workloads[cached].fio",
		"log on fast: files of wal: Fresh: the job writes in sequence and syncs", "vm.dirty_ratio=5", "as they are", "cached.tuned.r001",
		"2 workers, one after the other: fast.node-1, fast.node-2. Each runs all 8 trials.", "In all ≥ ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	// What another workload lays out is not free any more.
	two := header + "spec:\n  targets: [{name: fast, storageClass: {name: fast, size: 10Gi}}]\n  workloads:\n  - {name: a, fio: {parameters: {rw: randread, size: 6GiB}}}\n  - {name: b, fio: {parameters: {rw: randread, size: 6GiB}}}\n"
	if stdout, _, _ = output(t, "plan", "-f", benchmark(t, two)); !strings.Contains(stdout, "spec.workloads[b].fio needs 6 GiB, but only 4 GiB are free: lower its size, or make the target larger") {
		t.Error(stdout)
	}
}

func TestThePlanOfASweepSaysOnceWhatIsTheSameForItsPoints(t *testing.T) {
	stdout, stderr, _ := output(t, "plan", "-f", benchmark(t, header+`spec:
  targets: [{name: fast, storageClass: {name: fast, size: 10Gi}}]
  workloads: [{name: w, fio: {parameters: {rw: randread, size: 1GiB}}, sweep: {over: [{parameter: iodepth, values: [1, 2]}]}}]
`))
	if want := "w@iodepth-1 on fast, w@iodepth-2 on fast: files: Overwrite: "; strings.Count(stdout, want) != 1 || strings.Count(stdout, "Overwrite: ") != 1 {
		t.Errorf("%q is not said once in\n%s%s", want, stdout, stderr)
	}
}

func TestAPlanOfThisMachineUsesItsOwnFacts(t *testing.T) {
	dir := t.TempDir()
	d := planOf(t, benchmark(t, planned3), "--target", "fast="+dir, "--memory", "1Ti")
	if w := d.Workloads[0]; w.From != "this machine" || w.Facts.Memory == 0 || w.Facts.Memory == 1<<40 || w.Free == 0 || w.Size.Why == "" {
		t.Errorf("%+v", w)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("it wrote %v, %v", entries, err)
	}
}

func TestAPlanAsYAMLIsThatAsJSON(t *testing.T) {
	file := benchmark(t, planned3)
	stdout, stderr, code := output(t, "plan", "-f", file, "-o", "yaml")
	if code != 0 {
		t.Fatal(stderr)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(stdout))
	if err != nil {
		t.Fatal(err)
	}
	var got planDocument
	if err := json.Unmarshal(asJSON, &got); err != nil || got.Bytes != planOf(t, file).Bytes {
		t.Errorf("%+v, %v", got, err)
	}
}

// Every sample can be planned, those of schedules included.
func TestEverySampleHasAPlan(t *testing.T) {
	samples, err := filepath.Glob("../../config/samples/storagebenchmark*_*.yaml")
	if err != nil || len(samples) < 10 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, sample := range samples {
		stdout, stderr, code := output(t, "plan", "-f", sample, "--memory", "16Gi")
		if code != 0 || !strings.Contains(stdout, "In all ") || strings.Contains(stdout, "but only") {
			t.Errorf("%s: exit code %d: %s%s", sample, code, stdout, stderr)
		}
	}
}

func TestWhatCannotBePlannedIsNamedWithARemedy(t *testing.T) {
	file := benchmark(t, planned3)
	reader := benchmark(t, strings.Replace(planned3, "direct: 0}}", "direct: 0}, files: Fresh}", 1))
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no file":              {[]string{"plan"}, []string{"--file is missing"}},
		"a size that is none":  {[]string{"plan", "-f", file, "--memory", "lots"}, []string{"--memory", `"lots" is not a size`, "64Gi"}},
		"a rate of nothing":    {[]string{"plan", "-f", file, "--rate", "0"}, []string{"--rate", "not a size"}},
		"a format":             {[]string{"plan", "-f", file, "-o", "jsn"}, []string{"did you mean json"}},
		"files with no reader": {[]string{"plan", "-f", reader}, []string{"spec.workloads[cached].fio.files", "nothing to read", "Overwrite"}},
		"a target":             {[]string{"plan", "-f", file, "--target", "fats=/tmp"}, []string{`no target "fats"`, "did you mean fast"}},
	} {
		_, stderr, code := output(t, c.args...)
		if code != exitInvalid {
			t.Errorf("%s: exit code %d", name, code)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q is missing in %s", name, want, stderr)
			}
		}
	}
}

func TestAPlanCountsTheRoundsBeforeTheFirstTrial(t *testing.T) {
	spec := func(more string) string {
		return benchmark(t, header+"spec:\n  targets: [{name: fast, storageClass: {name: fast, size: 10Gi}}]\n  workloads:\n  - {name: w, fio: {parameters: {rw: randwrite, size: 64MiB, io_size: 32MiB, runtime: 9, time_based: 0}}"+more+"}\n  trials: {min: 6}\n")
	}
	plain, warm, judged := planOf(t, spec("")), planOf(t, spec(", precondition: {maxRounds: 4}")), planOf(t, spec(", precondition: {}"))
	one := plain.Workloads[0]
	for _, c := range []struct {
		planDocument
		least, most int
	}{{plain, 0, 0}, {warm, 4, 4}, {judged, 5, 25}} {
		w := c.Workloads[0]
		if w.LeastRounds != c.least || w.Rounds != c.most || w.Trials != 6 {
			t.Errorf("%d to %d rounds, %d trials", w.LeastRounds, w.Rounds, w.Trials)
		}
		if want := plain.Bytes + uint64(c.most)*one.Writes; c.Bytes != want {
			t.Errorf("%d bytes with %d rounds, want %d", c.Bytes, c.most, want)
		}
		if want := plain.Seconds + float64(c.most)*(one.Seconds+settle); math.Abs(c.Seconds-want) > 1e-6 {
			t.Errorf("%v s with %d rounds, want %v", c.Seconds, c.most, want)
		}
	}
	if warm.LeastSeconds != 0 || judged.LeastSeconds <= warm.Seconds || judged.LeastSeconds >= judged.Seconds {
		t.Errorf("the least are %v and %v s", warm.LeastSeconds, judged.LeastSeconds)
	}
	for more, want := range map[string][]string{
		// Of 6 trials, and of 5 to 25 rounds, of about ten seconds each.
		", precondition: {}}\n  timeout: 150s # ": {"It may be more than spec.timeout, 2m30s: the run then ends with what was measured until then."},
		", precondition: {}}\n  timeout: 90s # ":  {"That is more than spec.timeout, 1m30s: raise it, or lower trials.min, the workloads' runtime or precondition.maxRounds."},
		", precondition: {maxRounds: 4}":          {"w on fast: before its first trial 4 rounds of plain warm-up that are not measured: "},
		", precondition: {}":                      {"w on fast: before its first trial 5 to 25 rounds that are not measured, until the last five are steady: ", "The least is "},
	} {
		stdout, stderr, code := output(t, "plan", "-f", spec(more))
		for _, text := range want {
			if code != 0 || !strings.Contains(stdout, text) {
				t.Errorf("%q is missing in\n%s%s", text, stdout, stderr)
			}
		}
	}
}

func TestThePlanOfASearchIsThatOfItsFastestProbe(t *testing.T) {
	file := benchmark(t, header+`spec:
  targets:
  - {name: fast, storageClass: {name: fast, size: 10Gi}}
  workloads:
  - name: w
    fio: {parameters: {rw: randwrite, bs: 4k, size: 1GiB, ioengine: psync, iodepth: 32, runtime: 10s}}
    sweep: {slo: {metric: write.latency.p99, below: 2ms, rate: {from: 100, to: 5000}}}
`)
	w := planOf(t, file).Workloads[0]
	if text := strings.Join(w.Changes, "\n"); strings.Contains(text, "iodepth") {
		t.Errorf("in an open loop it is how many may be outstanding, whatever the engine: %s", text)
	}
	if want := uint64(5000 * 10 * 4096); w.Writes != want {
		t.Errorf("a probe writes %d bytes at most, want %d", w.Writes, want)
	}
	if _, stderr, code := output(t, "plan", "-f", file); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

//go:build system

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

// A run on a device by root says where its requests waited, and whose they were. Without eBPF it
// measures the same, and says what was not seen.
func TestARunObservesTheRequestsOfItsDisks(t *testing.T) {
	disk, out := devicetest.Loop(t, 64<<20), t.TempDir()
	devicetest.DirectIO(t, disk)
	file := benchmark(t, header+`spec:
  targets: [{name: disk, blockDevice: {path: `+disk+`, allowDataDestruction: true}}]
  workloads: [{name: w, fio: {parameters: {rw: randwrite, bs: 4k, fsync: "10", runtime: "2", time_based: "1"}}}]
  trials: {min: 1}
`)
	read := func(id, name string, document any) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(out, "default/b", id, name))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		content, err := os.ReadFile(files[0])
		if err == nil {
			err = json.Unmarshal(content, document)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(id, observers string) (d result.Trial, row result.Row, observer result.Observer) {
		t.Helper()
		if _, stderr, code := output(t, "run", "-f", file, "--out", out, "--run-id", id, "--observers", observers); code != exitDone {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		var s result.Summary
		read(id, "workers/*/trials/*.json", &d)
		read(id, "summary.json", &s)
		for _, e := range s.Environment {
			if len(e.Observers) == 1 {
				observer = e.Observers[0]
			}
		}
		return d, s.Rows[0], observer
	}

	d, row, observer := run("basic", "basic")
	if len(d.Devices) != 0 || len(observer.Seen) != 0 || len(observer.Unseen) != 1 || !strings.Contains(observer.Unseen[0], "nobody asked") {
		t.Errorf("without eBPF: %+v, %+v", d.Devices, observer)
	}
	if row.Metrics["device.write.count"].Median == 0 {
		t.Errorf("without eBPF there are no counters: %v", row.Metrics)
	}

	d, row, observer = run("all", "all")
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		if len(d.Devices) != 0 || len(observer.Unseen) != 1 || !strings.Contains(observer.Unseen[0], "CONFIG_DEBUG_INFO_BTF") {
			t.Errorf("on a kernel without BTF: %+v, %+v", d.Devices, observer)
		}
		return
	}
	if len(d.Devices) != 1 || d.Devices[0].Name != filepath.Base(disk) || len(observer.Seen) != 1 || len(observer.Unseen) != 0 {
		t.Fatalf("the devices are %+v, the observer %+v", d.Devices, observer)
	}
	ops, written := d.Devices[0].Operations, d.Metrics["write.ios"].Value
	if got := float64(ops["write"].Count); written == 0 || got < written || got > 1.05*written {
		t.Errorf("fio wrote %v times, and the disk %v times", written, got)
	}
	if got, want := float64(ops["flush"].Count), d.Metrics["device.flush.count"].Value; want == 0 || got < 0.99*want || got > 1.01*want+1 {
		t.Errorf("%v flushes, and the kernel counted %v", got, want)
	}
	if own, all := d.Devices[0].Origins["own"].Bytes, ops["write"].Bytes; float64(own) < 0.95*float64(all) {
		t.Errorf("of %d bytes, %d are known to be the workload's: %+v", all, own, d.Devices[0].Origins)
	}
	p99 := row.Metrics["device.write.latency.p99"]
	if p99.Pooled == nil || *p99.Pooled != p99.Median || p99.Median <= 0 || row.Metrics["device.seek.random"].Median < 0.9 {
		t.Errorf("the row has %+v, and seeks %+v", p99, row.Metrics["device.seek.random"])
	}
	if row.Histograms["device.write"].Count() != ops["write"].Latency.Count() {
		t.Error("the row has not the trial's histogram")
	}
	if _, stderr, code := output(t, "run", "-f", file, "--observers", "none"); code != exitInvalid || !strings.Contains(stderr, "--observers must be all or basic") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

package iozone

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func newEnv(t *testing.T, dir, config string) workload.Env {
	t.Helper()
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "iozone", Config: []byte(config)},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

// wantFailure checks class, field and a part of the message.
func wantFailure(t *testing.T, name string, err error, want trial.Failure) {
	t.Helper()
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != want.Class || f.Field != want.Field || !strings.Contains(f.Message, want.Message) {
		t.Errorf("%s: got %+v, want %+v", name, err, want)
	}
}

func TestSizesThatCannotBeMeasuredAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ config, field, message string }{
		"no files":                   {`{"fileSizes":[]}`, "iozone.fileSizes", "0 sizes are given"},
		"too many records":           {`{"recordSizes":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}`, "iozone.recordSizes", "17 sizes are given; 1 to 16"},
		"a record twice":             {`{"recordSizes":["4Ki",4096]}`, "iozone.recordSizes", "4KiB is listed twice"},
		"a record that is no power":  {`{"recordSizes":["12Ki"]}`, "iozone.recordSizes", "12KiB is not a power of two"},
		"a record below iozone's":    {`{"recordSizes":[512]}`, "iozone.recordSizes", "512B is not a power of two from 1 KiB"},
		"a record above iozone's":    {`{"recordSizes":["32Mi"]}`, "iozone.recordSizes", "to 16 MiB"},
		"a record for no device":     {`{"direct":true,"recordSizes":["1Ki"]}`, "iozone.recordSizes", "less than direct I/O"},
		"a record above all files":   {`{"fileSizes":["1Mi"],"recordSizes":["4Ki","2Mi"]}`, "iozone.recordSizes", "2MiB is larger than each of the files"},
		"a file below all records":   {`{"fileSizes":["4Ki","1Mi"],"recordSizes":["64Ki"]}`, "iozone.fileSizes", "4KiB is smaller than each of the records"},
		"a file with half a record":  {`{"fileSizes":["100Ki"],"recordSizes":["8Ki"]}`, "iozone.fileSizes", "100KiB is not a multiple of the record size 8KiB"},
		"a file of nobody":           {`{"fileSizes":["32Ti"]}`, "iozone.fileSizes", "not between 1 KiB and 16 TiB"},
		"no tests":                   {`{"tests":[]}`, "iozone.tests", "the list is empty"},
		"a test that is not there":   {`{"tests":["Stride"]}`, "iozone.tests", `no test "Stride"`},
		"a test twice":               {`{"tests":["Read","Read"]}`, "iozone.tests", "Read is listed twice"},
		"a tool that is not there":   {`{"tool":"dd"}`, "iozone.tool", `there is no tool "dd"`},
		"a field that is not there":  {`{"threads":2}`, "iozone.threads", `iozone has no field "threads"`},
		"a size that is not a size":  {`{"fileSizes":["big"]}`, "iozone", `"big" is not a size`},
		"a matrix without its parts": {`{"fileSizes":["1Mi"],"recordSizes":[]}`, "iozone.recordSizes", "0 sizes are given"},
	} {
		wantFailure(t, name, Engine{}.Check([]byte(c.config), trial.Filesystem), trial.Failure{Class: reason.InvalidSpec, Field: c.field, Message: c.message})
	}
	wantFailure(t, "a device", Engine{}.Check([]byte(`{}`), trial.Block), trial.Failure{Class: reason.InvalidSpec, Field: "iozone", Message: "iozone needs a file system"})
	for _, config := range []string{`{}`, `{"fileSizes":["64Ki","1Gi"],"recordSizes":["1Ki","16Mi"]}`, `{"direct":true,"tool":"Iozone","tests":["Reread"]}`} {
		if err := (Engine{}).Check([]byte(config), trial.Filesystem); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestRecordsLargerThanAFileAreLeftOut(t *testing.T) {
	c, err := decode([]byte(`{"fileSizes":["64Ki","1Mi"],"recordSizes":["4Ki","128Ki"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []pair{{64 << 10, 4 << 10}, {1 << 20, 4 << 10}, {1 << 20, 128 << 10}}
	if got := c.pairs(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if e, err := (Engine{}).Estimate([]byte(`{}`)); err != nil || e.Bytes != 512<<20 || e.Duration != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestTheJobsOfFioFollowEachOtherOnOneFile(t *testing.T) {
	c, err := decode([]byte(`{"tests":["Reread","RandomWrite"],"direct":true}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[global]
filename=cell
size=1048576
bs=4096
ioengine=psync
thread=1
create_serialize=0
fallocate=none
randrepeat=0
randseed=7
direct=1
[write]
stonewall
rw=write
end_fsync=1
[read]
stonewall
rw=read
[reread]
stonewall
rw=read
invalidate=0
[random.write]
stonewall
rw=randwrite
invalidate=0
end_fsync=1
`
	if diff := cmp.Diff(want, c.jobFile(pair{1 << 20, 4 << 10}, 7)); diff != "" {
		t.Error(diff)
	}
	c.IncludeFlush = false
	if got := c.jobFile(pair{1 << 20, 4 << 10}, 7); strings.Contains(got, "fsync") {
		t.Errorf("without a flush it has\n%s", got)
	}
}

func TestTheArgumentsOfIozone(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "-i 0 -i 1 -i 2 -s 1024k -r 4k -f cell -e",
		`{"tests":["Rewrite"],"includeFlush":false}`:    "-i 0 -s 1024k -r 4k -f cell",
		`{"tests":["RandomRead"],"direct":true}`:        "-i 0 -i 2 -s 1024k -r 4k -f cell -e -I",
		`{"tests":["Reread","Write"],"tool":"Iozone"}`:  "-i 0 -i 1 -s 1024k -r 4k -f cell -e",
		`{"tests":["RandomWrite","Read"],"tool":"Fio"}`: "-i 0 -i 1 -i 2 -s 1024k -r 4k -f cell -e",
	} {
		c, err := decode([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		b := iozoneBench{config: c}
		if got := strings.Join(b.arguments(pair{1 << 20, 4 << 10}), " "); got != want {
			t.Errorf("%s: %s", config, got)
		}
	}
}

// fakeIozone writes a program that stands for iozone, which cannot be had here: it
// prints a table in iozone's layout with the sizes that it is asked for, so that what is
// tested is how the process is handled.
func fakeIozone(t *testing.T, end string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake-iozone")
	script := `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -v) echo '        Version $Revision: 3.999 $'; exit ;;
    -s) file=${2%k}; shift ;;
    -r) record=${2%k}; shift ;;
    -f) touch "$2"; shift ;;
  esac
  shift
done
` + end + `
echo '              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread'
printf '%16d%8d%9d%9d%9d%9d%9d%9d\n' "$file" "$record" "$((file+1))" "$((file+2))" "$((file+3))" "$((file+4))" "$((file+5))" "$record"
echo 'iozone test complete.'
`
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestIozoneMeasuresWhereItIsInstalled(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"fileSizes":["1Mi","2Mi"],"recordSizes":["4Ki","2Mi"],"tests":["Read","RandomWrite"]}`)
	e := Engine{Iozone: fakeIozone(t, ""), Fio: "/nonexistent/fio", Memory: 1 << 20}
	if err := e.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := e.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"tests.read.bytes": 5 << 20, "tests.write.bytes": 5 << 20} {
		if got := m.Metrics[name].Value; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
		delete(m.Metrics, name)
	}
	wantMetrics(t, "fake", m.Metrics, map[string]float64{
		"read.1MiB.4KiB": 1027 * k, "read.2MiB.4KiB": 2051 * k, "read.2MiB.2MiB": 2051 * k, "read": 2051 * k,
		"random.write.1MiB.4KiB": 4 * k, "random.write.2MiB.4KiB": 4 * k, "random.write.2MiB.2MiB": 2048 * k, "random.write": 2048 * k,
	})
	if !slices.Equal(m.Operations, []string{"read", "random.write"}) || strings.Count(string(m.RawOutput), "iozone test complete.") != 3 || !slices.Contains(m.Command, "1024k") {
		t.Errorf("%+v", m)
	}
	if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.HasPrefix(n, "measured by iozone") }) || m.DirectIO.Effective != result.Buffered {
		t.Errorf("notes %q, %+v", m.Notes, m.DirectIO)
	}
	if slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "memory") }) {
		t.Errorf("a file of twice the memory has the notes %q", m.Notes)
	}
	if entries, _ := os.ReadDir(env.Dir); len(entries) != 0 {
		t.Errorf("it left %v", entries)
	}
	if tools := e.Tools(t.Context()); len(tools) != 1 || tools["iozone"] != "3.999" {
		t.Errorf("tools %v", tools)
	}
}

func TestWhatStopsIozoneIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		end  string
		want trial.Failure
	}{
		"a full file system": {
			"echo 'Error writing block 11, fd= 3'; echo 'write: No space left on device' >&2; exit 1",
			trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "No space left on device"},
		},
		"another end": {
			"echo 'Selected minimum record size is invalid'; exit 3",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].iozone", Message: "iozone failed: exit status 3: Selected minimum"},
		},
		"other sizes": {
			"file=64",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].iozone", Message: "did not measure the sizes it was given: a file of 1MiB"},
		},
		"no table": {
			"exit 0",
			trial.Failure{Class: reason.WorkloadFailed, Field: "spec.workloads[w].iozone", Message: "no table of iozone"},
		},
	} {
		env := newEnv(t, t.TempDir(), `{"fileSizes":["1Mi"],"recordSizes":["4Ki"]}`)
		m, err := Engine{Iozone: fakeIozone(t, c.end)}.Run(t.Context(), env)
		wantFailure(t, name, err, c.want)
		if m == nil || len(m.Command) == 0 {
			t.Errorf("%s: what was run is not kept", name)
		}
		if entries, _ := os.ReadDir(env.Dir); len(entries) != 0 {
			t.Errorf("%s: it left %v", name, entries)
		}
	}
}

func TestProgramsThatAreNotInstalledAreNamed(t *testing.T) {
	missing := Engine{Iozone: "/nonexistent/iozone", Fio: "/nonexistent/fio"}
	env := newEnv(t, t.TempDir(), `{"tool":"Iozone"}`)
	err := missing.Prepare(t.Context(), env)
	wantFailure(t, "iozone", err, trial.Failure{Class: reason.EngineRefused, Field: "spec.workloads[w].iozone.tool", Message: "cannot start iozone"})
	if f, ok := errors.AsType[*trial.Failure](err); !ok || !strings.Contains(f.Remedy, "set tool to Fio") {
		t.Errorf("the remedy is %+v", f)
	}
	_, err = missing.Run(t.Context(), newEnv(t, t.TempDir(), `{"fileSizes":["1Mi"],"tool":"Fio"}`))
	wantFailure(t, "fio", err, trial.Failure{Class: reason.InternalError, Field: "spec.workloads[w].iozone", Message: "cannot start fio"})
	if tools := missing.Tools(t.Context()); len(tools) != 0 {
		t.Errorf("tools %v", tools)
	}
}

func TestFioThatFailsInACellNamesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fake-fio")
	script := "#!/bin/sh\nfor a; do case $a in --output=*) out=${a#--output=};; esac; done\n" +
		`echo '{"fio version":"fio-3.33","jobs":[{"jobname":"write","error":0},{"jobname":"rewrite","error":28}]}' >"$out"` + "\nexit 1\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := newEnv(t, t.TempDir(), `{"fileSizes":["1Mi"],"recordSizes":["4Ki"],"tool":"Fio"}`)
	_, err := Engine{Fio: path}.Run(t.Context(), env)
	wantFailure(t, "full", err, trial.Failure{Class: reason.NoSpace, Field: "spec.targets[fast].storageClass.size", Message: "rewrite of a file of 1MiB with records of 4KiB"})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the cause is %v", err)
	}
}

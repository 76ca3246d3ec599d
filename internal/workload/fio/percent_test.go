package fio

import (
	"math"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// What fio 3.33 itself writes of a file of 4 MiB, which job w made: measured with its I/O log.
func TestAPercentageIsOfTheFileWhoseSizeAnotherJobGives(t *testing.T) {
	const made = "[w]\nfilename=f\nsize=4m\nrw=write\n[p]\nfilename=f\nstonewall\nrw=write\n"
	for options, want := range map[string]string{
		"offset=50%\nsize=25%":                      "offset=2097152\nsize=1048576",
		"offset=75%\nio_size=50%":                   "io_size=524288\noffset=3145728\nsize=1048576",
		"offset=1m":                                 "offset=1048576\nsize=3145728",
		"offset=90%\nsize=25%":                      "offset=3776512\nsize=417792", // at the next block, and to the end
		"offset_increment=25%\nsize=25%\nnumjobs=4": "numjobs=4\noffset_increment=1048576\nsize=1048576",
		"offset_increment=25%\nnumjobs=4":           "filesize=4194304\nnumjobs=4\noffset_increment=1048576",
		"offset_increment=25%\nsize=50%\nnumjobs=4": "filesize=4194304\nnumjobs=4\noffset_increment=1048576\nsize=50%",
		"offset=50%\nsize=1m":                       "offset=2097152\nsize=1048576",
	} {
		jobs, changes := withChanges(t, made+options)
		got := render(jobs[1:], nil)
		for line := range strings.SplitSeq(want, "\n") {
			if !strings.Contains(got, "\n"+line+"\n") {
				t.Errorf("%s: %s is not in\n%s", options, line, got)
			}
		}
		if strings.Contains(want, "%") != strings.Contains(got, "%") || strings.Contains(want, "filesize") != strings.Contains(got, "filesize") {
			t.Errorf("%s: rendered\n%s", options, got)
		}
		if strings.Contains(options, "%") != strings.Contains(changes, "of the 4 MiB that its file has") {
			t.Errorf("%s: it says\n%s", options, changes)
		}
	}
}

// Jobs that verify must not write what others have written: on a device their regions are apart.
func TestRegionsInPercentOfADeviceStayApartInAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"[global]\nfilename=/dev/sdx\nrw=write\nverify=crc32c\nsize=8m\n[a]\noffset=0%\n[b]\noffset=50%":                {"0", "8388608"},
		"[global]\nfilename=/dev/sdx\nrw=write\nverify=crc32c\nsize=8m\n[a]\n[b]\noffset=25%\n[c]\noffset=50%\nsize=4m": {"0", "8388608", "16777216"},
	} {
		jobs, _ := withChanges(t, text)
		for i, j := range jobs {
			if got := number(j.options["offset"]); got != number(want[i]) {
				t.Errorf("%s: job %s begins at %d, not %s", text, j.name, got, want[i])
			}
		}
	}
	jobs, _ := withChanges(t, "[a]\nfilename=/dev/sdx\nrw=write\nsize=8m\nnumjobs=4\noffset_increment=25%")
	if got := jobs[0].options["offset_increment"]; got != "8388608" {
		t.Errorf("clones are %s apart", got)
	}
}

// A size that is chosen is shared by percentages of it.
func TestPercentagesAreOfTheSizeThatIsChosen(t *testing.T) {
	jobs, changes := withChanges(t, "[global]\nfilename=/dev/sdx\nrw=randwrite\nbs=4k\n[a]\nsize=25%\n[b]\noffset=25%\nsize=75%\n[c]\noffset=50%\nio_size=10%")
	if n := strings.Count(changes, "of the size that is chosen"); n != 5 {
		t.Errorf("it is said %d times:\n%s", n, changes)
	}
	c := config{JobFile: "x"}
	setSize(jobs, unsized(c, jobs, trial.Filesystem), result.SizeChoice{Bytes: 64 << 20})
	for i, want := range []string{"size=16777216\n", "offset=16777216\nrw=randwrite\nsize=50331648\n", "io_size=3355443\noffset=33554432\nrw=randwrite\nsize=33554432\n"} {
		if got := render(jobs[i:i+1], nil); !strings.Contains(got, want) {
			t.Errorf("job %s: %q is not in\n%s", jobs[i].name, want, got)
		}
	}
	if end := footprint(jobs, 0); end != 64<<20 {
		t.Errorf("the file has %d bytes", end)
	}
}

// A job alone has no file to take a percentage of, as with fio itself.
func TestAPercentageOfNothingIsLeftOut(t *testing.T) {
	jobs, changes := withChanges(t, "[a]\nrw=write\nsize=8m\noffset=50%\nio_size=25%")
	if got := render(jobs, nil); strings.Contains(got, "offset") || !strings.Contains(got, "io_size=2097152\n") {
		t.Errorf("rendered\n%s", got)
	}
	if !strings.Contains(changes, "offset=50% of job a is left out: a file has no size before it is written") {
		t.Errorf("it says\n%s", changes)
	}
	_, changes = withChanges(t, "[a]\nrw=write\nfilesize=8m\noffset=50%\nsize=25%")
	if !strings.Contains(changes, "offset=50% of job a is of the 8 MiB that its file has") {
		t.Errorf("it says\n%s", changes)
	}
}

func TestAJobThatBeginsPastItsFileIsRefused(t *testing.T) {
	f := failure(t, check(t, config{JobFile: "[w]\nfilename=f\nsize=4m\nrw=write\n[p]\nfilename=f\nrw=read\noffset=4m"}, trial.Filesystem))
	if !strings.Contains(f.Message, "line 8: job p begins at 4 MiB, and its file ends at 4 MiB") || !strings.Contains(f.Remedy, "job w gives") {
		t.Errorf("%+v", f)
	}
}

// On a device fio works percentages out, and clips what goes past its end.
func TestPercentagesOfADeviceFitIt(t *testing.T) {
	for text, want := range map[string]uint64{
		"[a]\nrw=read\nsize=25%\noffset_increment=25%\nnumjobs=4": 100 << 20,
		"[a]\nrw=read\nsize=100%\noffset=50%":                     100 << 20,
		"[a]\nrw=read\nsize=1m\noffset_increment=10%\nnumjobs=3":  21 << 20,
	} {
		jobs, err := resolve(config{JobFile: text}, trial.Block, "w")
		if err != nil {
			t.Fatal(err)
		}
		if got := deviceEnd(jobs, 100<<20); got != want {
			t.Errorf("%s: it ends at %d", text, got)
		}
	}
	jobs, _ := resolve(config{JobFile: "[a]\nrw=read\nsize=25%"}, trial.Block, "w")
	if got := deviceEnd(jobs, math.MaxUint64); got == 0 {
		t.Error("of a device of unknown size")
	}
}

// A variable of fio's own environment would stand in its output.
func TestADescriptionNeverReachesFio(t *testing.T) {
	jobs, _ := withChanges(t, "[a]\nrw=read\nsize=1m\ndescription=of ${HOME}\n")
	if got := render(jobs, nil); strings.Contains(got, "description") || strings.Contains(got, "HOME") {
		t.Errorf("fio reads\n%s", got)
	}
}

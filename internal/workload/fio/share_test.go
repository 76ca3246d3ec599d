package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// fio names files after sections, whatever name= says, and by filename_format.
func TestJobsWhoseFilesHaveEqualNamesShareThem(t *testing.T) {
	for text, shared := range map[string]bool{
		"[a]\nrw=write\n[a]\nstonewall\nrw=read":                                      true,
		"[a]\nrw=write\nname=x\n[a]\nstonewall\nrw=read\nname=y":                      true,
		"[a]\nrw=write\n[b]\nname=a\nstonewall\nrw=read":                              false,
		"[global]\nfilename_format=d.$jobnum\n[a]\nrw=write\n[b]\nstonewall\nrw=read": true,
		"[global]\nfilename_format=$jobname.$jobnum\n[a]\nrw=write\n[b]\nrw=read":     false,
		"[a]\nrw=write\n[b]\nfilename_format=a.$jobnum.$filenum\nstonewall\nrw=read":  true,
		"[a]\ndirectory=/x\nrw=write\n[a]\ndirectory=/y\nrw=read":                     false,
	} {
		jobs, changes := withChanges(t, text)
		for i := range jobs {
			jobs[i].options["size"], jobs[i].options["numjobs"] = "1048576", "2"
		}
		want := uint64(4 << 20)
		if shared {
			want = 2 << 20
		}
		if got := footprint(jobs, 0); got != want {
			t.Errorf("%s: %d bytes", text, got)
		}
		format := strings.Contains(render(jobs, nil), "filename_format="+jobs[0].name+".$jobnum.$filenum\n")
		if said := strings.Contains(changes, "uses the files of job "+jobs[0].name); said != shared || format != shared {
			t.Errorf("%s: it says\n%s\nand renders\n%s", text, changes, render(jobs, nil))
		}
	}
}

// What one job reads is there for all that share its files, and is written once.
func TestFilesOfJobsOfOneNameAreLaidOutOnce(t *testing.T) {
	jobs, _ := withChanges(t, "[global]\nsize=1m\nnumjobs=2\n[a]\nrw=write\nfsync=1\n[a]\nstonewall\nrw=read\n[a]\nstonewall\nrw=randread\n[a]\nsize=2m\nstonewall\nrw=read")
	for _, j := range jobs {
		if j.found.Files != result.Overwrite {
			t.Errorf("job %s finds %s", j.name, j.found.Files)
		}
	}
	if got := render(fileWriters(jobs), nil); strings.Count(got, "[") != 2 {
		t.Errorf("they are written by\n%s", got)
	}
}

// A file that a job of no filename makes has its size for others, also by the name that fio gives it.
func TestAJobThatNamesTheFileOfAnotherHasItsSize(t *testing.T) {
	for _, text := range []string{
		"[a]\nrw=write\nsize=4m\n[a]\nstonewall\nrw=read\noffset=50%",
		"[a]\nrw=write\nsize=4m\n[b]\nfilename=a.0.0\nstonewall\nrw=read\noffset=50%",
	} {
		jobs, changes := withChanges(t, text)
		if got := render(jobs[1:], nil); !strings.Contains(got, "offset=2097152\n") || !strings.Contains(got, "size=2097152\n") {
			t.Errorf("%s: it says\n%s\nand renders\n%s", text, changes, got)
		}
	}
}

package fio

import (
	"math/rand/v2"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// chosen returns what each job's files are, as job=state.
func chosen(t *testing.T, c config, mode trial.Mode) string {
	t.Helper()
	if c.Prefill == "" {
		c.Prefill = prefillAuto
	}
	jobs, err := resolve(c, mode, "w")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, choice := range fileChoices(jobs) {
		if choice.Why == "" {
			t.Errorf("%s is %s without a reason", choice.Job, choice.Files)
		}
		out = append(out, choice.Job+"="+string(choice.Files))
	}
	return strings.Join(out, " ")
}

func TestWhatAppendsIsFreshAndWhatReadsOrRewritesIsLaidOut(t *testing.T) {
	never := parameters("rw=randread", "size=1m")
	never.Prefill = prefillNever
	forced := parameters("rw=write", "size=1m", "fsync=1")
	forced.Files = "Overwrite"
	for name, c := range map[string]struct {
		config config
		mode   trial.Mode
		want   string
	}{
		"etcd":                                   {config{Preset: "etcd"}, trial.Filesystem, "wal=Fresh"},
		"a backup":                               {config{Preset: "backup"}, trial.Filesystem, "read-volume=Overwrite write-repository=Fresh"},
		"a backup on a device":                   {config{Preset: "backup"}, trial.Block, "read-volume=Overwrite write-repository=Overwrite"},
		"recycled segments of a log":             {config{Preset: "postgresql-wal"}, trial.Filesystem, "wal=Overwrite"},
		"a database":                             {config{Preset: "postgresql-oltp"}, trial.Filesystem, "backends=Overwrite checkpointer=Overwrite wal=Overwrite"},
		"a broker":                               {config{Preset: "kafka"}, trial.Filesystem, "partitions=Fresh lagging-consumer=Overwrite"},
		"random writes":                          {parameters("rw=randwrite"), trial.Filesystem, "w=Overwrite"},
		"a stream past the page cache":           {parameters("rw=write"), trial.Filesystem, "w=Overwrite"},
		"a stream that syncs":                    {parameters("rw=write", "sync=dsync"), trial.Filesystem, "w=Fresh"},
		"sync=0 does not sync":                   {parameters("rw=write", "sync=0", "fsync=0"), trial.Filesystem, "w=Overwrite"},
		"a stream through the page cache":        {parameters("rw=write", "direct=0"), trial.Filesystem, "w=Fresh"},
		"overwrite=1 decides":                    {parameters("rw=write", "fsync=1", "overwrite=1"), trial.Filesystem, "w=Overwrite"},
		"verify":                                 {parameters("rw=randwrite", "verify=md5"), trial.Filesystem, "w=Fresh"},
		"unlink":                                 {parameters("rw=randwrite", "unlink=1"), trial.Filesystem, "w=Fresh"},
		"unlink of what is read":                 {parameters("rw=randread", "unlink=1"), trial.Filesystem, "w=AsFound"},
		"never":                                  {never, trial.Filesystem, "w=AsFound"},
		"the user decides":                       {forced, trial.Filesystem, "w=Overwrite"},
		"a reader of a file that is appended to": {config{JobFile: "[a]\nrw=write\nfsync=1\nfilename=x\nsize=1m\n[b]\nrw=read\nfilename=x\nsize=1m"}, trial.Filesystem, "a=Overwrite b=Overwrite"},
		"a chain of shared files": {
			config{JobFile: "[global]\nsize=1m\nfsync=1\nrw=write\n[a]\nfilename=x\n[b]\nfilename=x:y\n[c]\nfilename=y:z\n[d]\nrw=randread\nfilename=z\n[e]\nfilename=own"},
			trial.Filesystem, "a=Overwrite b=Overwrite c=Overwrite d=Overwrite e=Fresh",
		},
		"trims of a device":             {parameters("rw=randtrim", "size=1m"), trial.Block, "w=AsFound"},
		"a device without a size":       {config{JobFile: "[a]\nrw=randwrite"}, trial.Block, "a=AsFound"},
		"a device, read without a size": {config{JobFile: "[a]\nrw=randread"}, trial.Block, "a=Overwrite"},
	} {
		if got := chosen(t, c.config, c.mode); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAChoiceOfFilesThatAJobCannotWorkWithIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		config      config
		files       string
		mode        trial.Mode
		says, field string
	}{
		"a reader":           {parameters("rw=randread"), "Fresh", trial.Filesystem, "nothing to read", fieldFiles},
		"a device":           {parameters("rw=write", "size=1m"), "Fresh", trial.Block, "has no files", fieldFiles},
		"overwrite=1":        {parameters("rw=write", "overwrite=1"), "Fresh", trial.Filesystem, "overwrite=1", fieldFiles},
		"a verifying reader": {parameters("rw=read", "verify=md5"), "Overwrite", trial.Filesystem, "no checksums", fieldFiles},
		"unlink":             {parameters("rw=write", "unlink=1"), "Overwrite", trial.Filesystem, "unlink", fieldFiles},
		"a misspelling":      {parameters("rw=write"), "Frsh", trial.Filesystem, `there is no choice "Frsh"`, fieldFiles},
	} {
		c.config.Prefill, c.config.Files = prefillAuto, c.files
		f := failure(t, check(t, c.config, c.mode))
		if f.Field != c.field || !strings.Contains(f.Message, c.says) || f.Remedy == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	both := parameters("rw=write")
	both.Prefill, both.Files = prefillNever, "Overwrite"
	if f := failure(t, check(t, both, trial.Filesystem)); f.Field != fieldFiles {
		t.Errorf("%+v", f)
	}
}

// Whatever the jobs: a file has one state, no job reads one that is not there, and what is
// overwritten is laid out.
func TestAFileHasOneStateWhateverTheJobs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	fresh, laid := 0, 0
	for range 3000 {
		var text strings.Builder
		for _, name := range []string{"a", "b", "c"} {
			text.WriteString("[" + name + "]\nsize=1m\nrw=" + pick("read", "write", "randread", "randwrite", "randrw", "rw") + "\n")
			text.WriteString(pick("", "", "filename=x\n", "filename=x:y\n", "filename=y:z\n"))
			text.WriteString(pick("", "fsync=1\n", "fdatasync=4\n", "end_fsync=1\n", "sync=sync\n"))
			text.WriteString(pick("", "direct=1\n") + pick("", "", "overwrite=1\n") + pick("", "", "time_based=1\nruntime=1\n"))
		}
		jobs, err := resolve(config{JobFile: text.String(), Prefill: prefillAuto}, trial.Filesystem, "w")
		if err != nil {
			t.Fatalf("%s: %v", &text, err)
		}
		written := extents{}
		for _, w := range fileWriters(jobs) {
			written.add(w, defaultSize)
		}
		fresh, laid = fresh+len(freshFiles(jobs)), laid+len(written)
		for name := range freshFiles(jobs) {
			if _, both := written[name]; both {
				t.Fatalf("%s is laid out and removed:\n%s", name, &text)
			}
		}
		for _, j := range jobs {
			own := extents{}
			own.add(j, defaultSize)
			for name, end := range own {
				if (j.reads() || j.found.Files == result.Overwrite) && written[name] < end {
					t.Fatalf("%s needs %d bytes of %s, and %d are laid out:\n%s", j.name, end, name, written[name], &text)
				}
			}
		}
	}
	if fresh < 500 || laid < 500 {
		t.Errorf("%d files were fresh and %d laid out: the jobs are not various enough", fresh, laid)
	}
}

// withChanges returns the jobs of a job file, and what is changed of it.
func withChanges(t *testing.T, text string) ([]job, string) {
	t.Helper()
	jobs, changes, err := resolveChanged(config{JobFile: text, Prefill: prefillAuto}, trial.Filesystem, "w")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return jobs, strings.Join(changes, "\n")
}

// Also one whose size is given by filesize. It is said once where a size comes from.
func TestAJobThatSharesAFileHasItsSize(t *testing.T) {
	for text, want := range map[string]string{
		"[w]\nfilesize=128m\nrw=write\nfilename=f\n[r]\nstonewall\nrw=randread\nfilename=f":            "134217728",
		"[w]\nfilesize=8m\nrw=write\nfilename=f:g\n[r]\nstonewall\nrw=randread\nfilename=f:g":          "16777216",
		"[w]\nsize=4m\nrw=write\nfilename=f\n[r]\nstonewall\nrw=randread\nfilename=f":                  "4194304",
		"[w]\nfilesize=4m-8m\nrw=write\nfilename=f\n[r]\nstonewall\nrw=randread\nfilename=f":           "",
		"[w]\nsize=4m\nrw=write\nfilename=f\n[r]\nstonewall\nrw=randread\nfilename=another-of-its-own": "",
	} {
		jobs, changes := withChanges(t, text)
		if got := jobs[1].options["size"]; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if strings.Contains(changes, "job r has no size") != (want == "") || strings.Contains(changes, "job r has the size of its file") != (want != "") {
			t.Errorf("%s: it says:\n%s", text, changes)
		}
	}
}

// Clones share a file only if their names of it are equal.
func TestClonesShareFilesOnlyByEqualNames(t *testing.T) {
	for format, shared := range map[string]bool{
		"file$jobnum": false, "file$jobnum.$filenum": false, "$jobname.$filenum": true, "$jobname": true,
	} {
		for _, files := range []string{"1", "4"} {
			jobs, changes := withChanges(t, "[a]\nrw=randread\nsize=8m\nnumjobs=3\nnrfiles="+files+"\nfilename_format="+format)
			if jobs[0].has("filename") != shared || shared != strings.Contains(changes, "all clones") {
				t.Errorf("%s, %s files: %q:\n%s", format, files, jobs[0].options["filename"], changes)
			}
			if one := !strings.Contains(format, "$filenum"); one && jobs[0].files() != 1 {
				t.Errorf("%s, %s files: %d", format, files, jobs[0].files())
			}
		}
	}
}

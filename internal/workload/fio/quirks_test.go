package fio

import (
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// Around fio stand other commands in what people write down. None of them is started, and a change
// names each.
func TestOtherCommandsAroundFioAreLeftOutAndSaid(t *testing.T) {
	const fio = "fio --name=a --rw=randread --size=1m"
	const want = "[a]\nrw=randread\nsize=1048576\n"
	for text, said := range map[string]string{
		"kubectl exec -it fio -n x -- " + fio:                       `"kubectl exec -it fio -n x --" is left out`,
		"docker run --rm -v /mnt:/data fio " + fio:                  `"docker run --rm -v /mnt:/data fio" is left out`,
		"taskset -c 0 numactl -N 1 " + fio:                          `"taskset -c 0 numactl -N 1" is left out`,
		"root@node:/mnt# " + fio:                                    `"root@node:/mnt#" is left out`,
		"sync; echo 3 > /proc/sys/vm/drop_caches; " + fio:           `"echo 3" is left out`,
		"apt install -y fio && cd fio; " + fio:                      `"apt install -y fio" is left out`,
		"mkdir -p /mnt/x && cd /mnt/x && " + fio:                    `"cd /mnt/x" is left out`,
		fio + " && rm -rf /":                                        `"rm -rf /" is left out`,
		fio + "; sleep 5; echo done":                                `"sleep 5; echo done" is left out`,
		fio + " || exit 1":                                          "what follows the || is left out",
		"fio --name=a\n--rw=randread\n  --size=1m\n":                "is read as one with that above",
		"fio --name=a \\ # a name\n --rw=randread \\  \n --size=1m": "the line goes on",
		"/opt/fio/fio --name=a --rw=randread --siz=1m --numj 1":     "--numj is read as --numjobs",
	} {
		jobs, changes, err := resolveChanged(config{CommandLine: text}, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := strings.ReplaceAll(render(jobs, nil), "numjobs=1\n", ""); got != want {
			t.Errorf("%q: rendered\n%s", text, got)
		}
		if !slices.ContainsFunc(changes, func(c string) bool { return strings.Contains(c, said) }) {
			t.Errorf("%q: %q is not in %q", text, said, changes)
		}
	}
}

func TestWhatIsMoreThanOneCommandOfFioIsRefused(t *testing.T) {
	for text, message := range map[string]string{
		"for b in 4k 8k; do fio --name=a --bs=$b --size=1m; done": `a shell does more with "for"`,
		"while fio --name=a --size=1m":                            `a shell does more with "while"`,
		"fio --name=a --size=1m\nfio --name=b --size=1m":          "another command follows",
		"fio --name=a --size=1m; sync; sudo fio --name=b":         "another command follows",
		"if fio --name=a --size=1m; then echo; fi":                "another command follows",
		"fio --name=a --size=`cat x`":                             "the output of another command",
		"fio --name=a --size=\"$(cat x)\"":                        "the output of another command",
		"fio --name=a --size=$((1+x))":                            "the output of another command",
		"fio --name=a --rat=1m --size=1m":                         `"rat" is not a fio option`,
	} {
		f := failure(t, check(t, config{CommandLine: text}, trial.Filesystem))
		if !strings.Contains(f.Message, message) || f.Remedy == "" {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

// Variables stand for words as in a shell, and not in single quotes.
func TestVariablesOfACommandLineAreReplacedAsAShellDoesIt(t *testing.T) {
	own := map[string]string{"OPTS": "--rw=write  --bs=8k", "NAME": "a b", "OUT": "/tmp/x", "SIZE": "2m"}
	for text, want := range map[string]string{
		`fio --name="$NAME" $OPTS --size=${SIZE} --output=$OUT`:                              "[a-b]\nbs=8192\nrw=write\nsize=2097152\n",
		"SIZE=1m RW=read\nfio --name=a --rw=$RW --size=$SIZE --bs=${BS:-4k} | tee $NAME$OUT": "[a]\nbs=4096\nrw=read\nsize=2097152\n",
		"# fio --name=a --loops=$((10**3)) --size=${SIZE}":                                   "[a]\nloops=1000\nsize=2097152\n",
		"fio --name=a --size=$((${SIZE} / 2))k --filename_format='$jobname.x' --numjobs=1":   "[a]\nfilename=a.x\nnumjobs=1\nsize=1073741824\n",
	} {
		variables := map[string]string{}
		for name, value := range own {
			if strings.Contains(text, name) {
				variables[name] = value
			}
		}
		jobs, _, err := resolveChanged(config{CommandLine: text, Variables: variables}, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := render(jobs, nil); got != want {
			t.Errorf("%q: rendered\n%s", text, got)
		}
	}
	long := config{CommandLine: "fio --name=a " + strings.Repeat("$X", 5000), Variables: map[string]string{"X": strings.Repeat("x", 1000)}}
	if f := failure(t, check(t, long, trial.Filesystem)); !strings.Contains(f.Message, "with its variables it is longer") {
		t.Errorf("%+v", f)
	}
}

func TestAnOffsetInPercentIsLeftOutForFiles(t *testing.T) {
	c := config{JobFile: "[a]\nsize=1m\noffset=50%\n"}
	jobs, changes, err := resolveChanged(c, trial.Filesystem, "w")
	if err != nil || jobs[0].has("offset") || len(changes) != 1 {
		t.Errorf("%v %q %v", jobs, changes, err)
	}
	if jobs, _, err = resolveChanged(c, trial.Block, "w"); err != nil || jobs[0].options["offset"] != "50%" {
		t.Errorf("%v %v", jobs, err)
	}
}

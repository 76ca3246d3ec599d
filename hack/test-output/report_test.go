package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const passes = `{"Action":"start","Package":"p/a"}
{"Action":"run","Package":"p/a","Test":"TestOne"}
{"Action":"output","Package":"p/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"p/a","Test":"TestOne","Output":"    a_test.go:1: of one\n"}
{"Action":"output","Package":"p/a","Test":"TestOne","Output":"--- PASS: TestOne (1.50s)\n"}
{"Action":"pass","Package":"p/a","Test":"TestOne","Elapsed":1.5}
{"Action":"output","Package":"p/a","Output":"PASS\n"}
{"Action":"pass","Package":"p/a","Elapsed":1.6}
`
	for name, c := range map[string]struct {
		in      string
		verbose bool
		fails   bool
		want    string
	}{
		"a package that passes is a line": {in: passes, want: "ok   p/a (1.6 s)\n"},
		"with -v a test that passes is one, too": {
			in: passes, verbose: true, want: "ok   TestOne 1.5 s\nok   p/a (1.6 s)\n",
		},
		"a package without tests is none": {
			in: `{"Action":"output","Package":"p/b","Output":"?   p/b [no test files]\n"}
{"Action":"skip","Package":"p/b","Elapsed":0}
`,
		},
		"what two tests print at the same time is not mixed": {
			in: `{"Action":"output","Package":"p","Test":"TestA/sub","Output":"a1\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"b1\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"a2\n"}
{"Action":"fail","Package":"p","Test":"TestA/sub","Elapsed":1}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":2}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":3}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p","Elapsed":3}
`,
			fails: true, want: "b1\na1\na2\nFAIL\n",
		},
		"a panic shows the test that did not end": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"fail","Package":"p","Elapsed":3}
`,
			fails: true, want: "panic: no\n",
		},
		"a stream that is cut off fails": {
			in:    `{"Action":"output","Package":"p","Test":"TestA","Output":"began\n"}` + "\n",
			fails: true, want: "began\nFAIL p TestA did not end\n",
		},
		"what does not build fails": {
			in: `{"ImportPath":"p","Action":"build-output","Output":"x.go:1: undefined: y\n"}
{"ImportPath":"p","Action":"build-fail"}
`,
			fails: true, want: "x.go:1: undefined: y\n",
		},
		"what is not JSON is shown": {in: "no required module\n", want: "no required module\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			failed, err := run(strings.NewReader(c.in), &out, c.verbose, "", "")
			if err != nil || failed != c.fails {
				t.Errorf("failed is %v, %v", failed, err)
			}
			if got := regexp.MustCompile(" +([0-9])").ReplaceAllString(out.String(), " $1"); got != c.want {
				t.Errorf("it prints %q, want %q", got, c.want)
			}
		})
	}
}

func TestTimesAreAdded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	for _, in := range []string{
		`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1.5}`,
		`{"Action":"pass","Package":"p","Test":"TestB/sub","Elapsed":9}`,
		`{"Action":"fail","Package":"q","Test":"TestC","Elapsed":0.25}`,
	} {
		if _, err := run(strings.NewReader(in), &strings.Builder{}, false, file, ""); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if want := "1.50\tp TestA\n0.25\tq TestC\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestFailuresAreNamed(t *testing.T) {
	const aFails = `{"Action":"fail","Package":"p","Test":"TestA/sub"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
`
	for name, c := range map[string]struct{ in, want string }{
		"a test":         {in: aFails + `{"Action":"fail","Package":"p"}`, want: "TestA\n"},
		"none":           {in: `{"Action":"pass","Package":"p"}`},
		"a panic beside": {in: aFails + `{"Action":"output","Package":"p","Test":"TestC","Output":"panic\n"}` + "\n" + `{"Action":"fail","Package":"p"}`},
		"another package that fails without a test": {in: aFails + `{"Action":"fail","Package":"p"}` + "\n" + `{"Action":"fail","Package":"q"}`},
		"what does not build":                       {in: aFails + `{"Action":"build-fail","ImportPath":"q"}`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "failures")
			if _, err := run(strings.NewReader(c.in), &strings.Builder{}, false, "", file); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
}

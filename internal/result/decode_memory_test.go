package result

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// mostMemory is what decoding a document may take besides its text. The operator has 256 MiB, and
// reads the document again after each restart.
const mostMemory = 100 << 20

// peak returns by how much the heap grows while f runs.
func peak(f func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, highest := m.HeapInuse, uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return max(highest, before) - before
}

// copies returns so many elements, with commas between them.
func copies(element string, n int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

func TestADocumentWithinTheLimitsIsDecodedInLittleMemory(t *testing.T) {
	worker := `{"schema":"` + WorkerSchema + `","planned":10,`
	for name, document := range map[string]string{
		"trials that are null":     worker + `"trials":[` + copies("null", maxValues-100) + `]}`,
		"trials that are empty":    worker + `"trials":[` + copies("{}", maxValues/2-100) + `]}`,
		"trials that are numbers":  worker + `"trials":[` + copies("0", maxValues-100) + `]}`,
		"trials of another case":   worker + `"tRiAlſ":[` + copies("null", maxValues-100) + `]}`,
		"attempts that are null":   worker + `"attempts":[` + copies("null", maxValues-100) + `]}`,
		"verdicts that are null":   worker + `"trials":[{"verdicts":[` + copies("null", maxValues-100) + `]}]}`,
		"workloads that are empty": worker + `"workloads":[` + copies("{}", maxValues/2-100) + `]}`,
		"bins that are null":       worker + `"workloads":[{"histograms":{"read":{"bins":[` + copies("null", maxValues-100) + `]}}}]}`,
		"bins that just fit":       worker + `"workloads":[{"histograms":{"read":{"bins":[` + copies("null", maxMemory/opaqueElement-100) + `]}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if len(document) > MaxWorkerSummary {
				t.Fatalf("it has %d bytes", len(document))
			}
			body := []byte(document)
			var err error
			if grown := peak(func() { _, err = DecodeWorkerSummary(body, trial.Digest(body)) }); grown > mostMemory {
				t.Errorf("%d KiB take %d MiB (%v)", len(body)>>10, grown>>20, err)
			}
		})
	}
}

// place is where a document has a list or a map.
type place struct {
	t             reflect.Type
	before, after string
}

// places returns one place for each type of list and map that a type of document has, if none was
// seen before.
func places(document reflect.Type, schema string, seen map[reflect.Type]bool) []place {
	var found []place
	var visit func(t reflect.Type, before, after string)
	visit = func(t reflect.Type, before, after string) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if seen[t] || opaque(t) {
			return
		}
		switch t.Kind() {
		case reflect.Struct:
			seen[t] = true
			for name, member := range (&scan{fields: map[reflect.Type]map[string]reflect.Type{}}).fieldsOf(t) {
				visit(member, before+`{"`+name+`":`, "}"+after)
			}
		case reflect.Slice:
			seen[t] = true
			found = append(found, place{t, before, after})
			visit(t.Elem(), before+"[", "]"+after)
		case reflect.Map:
			seen[t] = true
			found = append(found, place{t, before, after})
			visit(t.Elem(), before+`{"k":`, "}"+after)
		}
	}
	visit(document, "", "")
	for i := range found {
		found[i].before = strings.Replace(found[i].before, "{", `{"schema":"`+schema+`",`, 1)
	}
	return found
}

// filled returns the document with n elements in its list or map.
func (p place) filled(element string, n int) []byte {
	if p.t.Kind() == reflect.Slice {
		return []byte(p.before + "[" + copies(element, n) + "]" + p.after)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%x":%s`, i, element)
	}
	return []byte(p.before + "{" + strings.TrimPrefix(b.String(), ",") + "}" + p.after)
}

// fitting is how many elements are below the limit of memory by a little.
func (p place) fitting() int {
	if p.t.Kind() == reflect.Map {
		return maxMemory / int(entry(p.t, mapSlots)) * 99 / 100
	}
	return maxMemory / int(growth*p.t.Elem().Size()) * 99 / 100
}

// checkPlaces decodes documents that are full of small elements.
func checkPlaces[D any](t *testing.T, schema string, seen map[reflect.Type]bool) {
	t.Helper()
	for _, p := range places(reflect.TypeFor[D](), schema, seen) {
		if p.t.Kind() == reflect.Slice && p.t.Elem().Kind() == reflect.Uint8 {
			t.Errorf("%s…%s: checkJSON does not know that bytes are a text", p.before, p.after)
		}
		for _, element := range []string{"null", "0", "{}", "[]", `""`} {
			n := min(p.fitting(), 60_000) // more of small ones take time, and in proportion as much
			body := p.filled(element, n)
			var err error
			if grown := peak(func() { err = Decode(body, schema, new(D)) }); grown > mostMemory {
				t.Errorf("%s %d of %s in %d KiB take %d MiB (%v)", p.before, n, element, len(body)>>10, grown>>20, err)
			}
		}
		if p.t.Elem().Size() < 64 {
			continue
		}
		if body := p.filled("null", p.fitting()*102/100); Decode(body, schema, new(D)) == nil {
			t.Errorf("%s more than fit in %d KiB were decoded", p.before, len(body)>>10)
		}
	}
}

func TestNoListOfADocumentTakesMuchMemory(t *testing.T) {
	seen := map[reflect.Type]bool{}
	checkPlaces[WorkerSummary](t, WorkerSchema, seen)
	checkPlaces[Trial](t, TrialSchema, seen)
	checkPlaces[Summary](t, SummarySchema, seen)
	checkPlaces[EngineResult](t, EngineSchema, seen)
}

package imports

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const rooms = "controllers"

// order returns the rooms of the controllers as their package comment lists them.
func order(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../../controllers/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, match := range regexp.MustCompile(`(?m)^//\t(\w+) +\S`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, match[1])
	}
	return names
}

// upwards returns the imports between rooms that do not run down the list, and the rooms
// that are not in it, or are in it and not there.
func upwards(names []string, packages []Package) (found []string) {
	at := func(path string) (string, int) {
		room, ok := strings.CutPrefix(path, Module+"/"+rooms+"/")
		if !ok {
			return "", -1
		}
		room, _, _ = strings.Cut(room, "/")
		return room, slices.Index(names, room)
	}
	there := map[string]bool{}
	for _, p := range packages {
		room, from := at(p.ImportPath)
		if room == "" {
			continue
		}
		if there[room] = true; from < 0 {
			found = append(found, "controllers/doc.go does not list "+room)
			continue
		}
		for _, imported := range p.Imports {
			if imported == Module+"/"+rooms {
				found = append(found, room+" imports controllers, which wires it")
			}
			if other, to := at(imported); other != "" && other != room && to <= from {
				found = append(found, room+" imports "+other+", which is above it")
			}
		}
	}
	for _, name := range names {
		if !there[name] {
			found = append(found, "controllers/doc.go lists "+name+", which is not there")
		}
	}
	return found
}

func TestCallsBetweenTheControllersRoomsRunDownwards(t *testing.T) {
	names := order(t)
	if len(names) < 5 {
		t.Fatalf("controllers/doc.go lists %d rooms: %v", len(names), names)
	}
	for _, line := range upwards(names, list(t)) {
		t.Error(line)
	}
}

// The check itself must be able to fail.
func TestUpwards(t *testing.T) {
	const above, below = Module + "/controllers/above", Module + "/controllers/below"
	names := []string{"above", "below"}
	for name, c := range map[string]struct {
		packages []Package
		want     []string
	}{
		"down is allowed":          {[]Package{{ImportPath: above, Imports: []string{below, "fmt"}}, {ImportPath: below}}, nil},
		"up is not":                {[]Package{{ImportPath: above}, {ImportPath: below, Imports: []string{above}}}, []string{"below imports above, which is above it"}},
		"nor what wires them":      {[]Package{{ImportPath: above}, {ImportPath: below, Imports: []string{Module + "/controllers"}}}, []string{"below imports controllers, which wires it"}},
		"nor from a part of one":   {[]Package{{ImportPath: above}, {ImportPath: below + "/part", Imports: []string{above}}}, []string{"below imports above, which is above it"}},
		"a room that is not there": {[]Package{{ImportPath: above}}, []string{"controllers/doc.go lists below, which is not there"}},
		"a room that is not listed": {
			[]Package{{ImportPath: above}, {ImportPath: below}, {ImportPath: Module + "/controllers/attic"}},
			[]string{"controllers/doc.go does not list attic"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := upwards(names, c.packages); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

package docs

import (
	"os"
	"regexp"
	"testing"
)

// The present release has one name, wherever it is written by hand.
func TestTheReleaseHasOneName(t *testing.T) {
	release := ""
	for _, place := range []struct{ file, pattern string }{
		{"charts/storagebench/Chart.yaml", `(?m)^appVersion: (\S+)$`},
		{"charts/storagebench/Chart.yaml", `(?m)^version: (\S+)$`},
		{"config/manager/kustomization.yaml", `(?m)^  newTag: (\S+)$`},
		{"config/manager/manager.yaml", `storagebench\.io/storagebench-worker:(\S+)`},
		{"config/admission/policies.yaml", `storagebench\.io/storagebench-worker:([^"']+)`},
		{"README.md", `image\.tag=(\S+)`},
		{"docs/how-to/upgrade.md", `This release is (\d+\.\d+\.\d+)\.`},
	} {
		content, err := os.ReadFile("../../" + place.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(place.pattern).FindAllSubmatch(content, -1)
		if len(found) == 0 {
			t.Errorf("%s does not name the release: nothing matches %s", place.file, place.pattern)
		}
		for _, match := range found {
			name := string(match[1])
			if release == "" {
				release = name
			}
			if name != release {
				t.Errorf("%s calls the release %s, and the chart calls it %s", place.file, name, release)
			}
		}
	}
}

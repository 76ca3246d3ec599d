package scripts

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// plugin is a manifest of krew, as far as krew installs by it.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct{ Name string }
	Spec       struct {
		Version, ShortDescription, Homepage string
		Platforms                           []struct {
			Selector         struct{ MatchLabels map[string]string }
			URI, SHA256, Bin string
		}
	}
}

// What krew downloads must be what the manifest says, and have the program that it names.
func TestKrewManifestIsOfTheArchives(t *testing.T) {
	programs, out := t.TempDir(), filepath.Join(t.TempDir(), "krew")
	for _, arch := range []string{"amd64", "arm64"} {
		file := filepath.Join(programs, "linux_"+arch, "storagebench")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("program of "+arch), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const url = "https://example.com/releases/v0"
	last := krew(t, programs, out, url)
	if !strings.HasPrefix(last, "krew: ok: ") {
		t.Fatal(last)
	}
	content, err := os.ReadFile(filepath.Join(out, "storagebench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.Unmarshal(content, &p); err != nil {
		t.Fatal(err)
	}
	if p.Kind != "Plugin" || p.Metadata.Name != "storagebench" || !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(p.Spec.Version) || len(p.Spec.ShortDescription) > 50 {
		t.Errorf("krew does not take this manifest:\n%s", content)
	}
	if len(p.Spec.Platforms) != 2 {
		t.Fatalf("there are %d platforms", len(p.Spec.Platforms))
	}
	for _, platform := range p.Spec.Platforms {
		arch := platform.Selector.MatchLabels["arch"]
		archive, err := os.ReadFile(filepath.Join(out, path.Base(platform.URI)))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(archive); hex.EncodeToString(sum[:]) != platform.SHA256 || platform.URI != url+"/"+path.Base(platform.URI) {
			t.Errorf("%s: the archive at %s is not that with the digest %s", arch, platform.URI, platform.SHA256)
		}
		if got := inArchive(t, archive, platform.Bin); got != "program of "+arch {
			t.Errorf("%s: the archive's %s is %q", arch, platform.Bin, got)
		}
		if inArchive(t, archive, "LICENSE") == "" {
			t.Errorf("%s: the archive has no license, which krew demands", arch)
		}
	}
}

func TestKrewNeedsAnAddress(t *testing.T) {
	for _, url := range []string{"", "http://example.com"} {
		if last := krew(t, t.TempDir(), t.TempDir(), url); !strings.HasPrefix(last, "krew: short: say where the archives will be") {
			t.Errorf("%q: %s", url, last)
		}
	}
}

// krew runs the script, and returns its last line.
func krew(t *testing.T, programs, out, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../hack/krew", url)
	cmd.Env = append(os.Environ(), "KREW_PROGRAMS="+programs, "KREW_OUT="+out)
	printed, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	return lines[len(lines)-1]
}

// inArchive is the content of a file of an archive, or nothing.
func inArchive(t *testing.T, archive []byte, name string) string {
	t.Helper()
	unzipped, err := gzip.NewReader(strings.NewReader(string(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Clean(header.Name) == name {
			content, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		}
	}
}

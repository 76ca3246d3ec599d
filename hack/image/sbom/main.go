// Command sbom writes what an image is made of, as SPDX 2.3 in JSON: the modules that its Go
// programs say they were built from, and the packages in dpkg's status.
//
//	sbom -name storagebench-worker:0.3.0 -root DIRECTORY >worker.spdx.json
//
// DIRECTORY is the image's root. The same image gives the same bytes: there is no time and no
// random number in it.
package main

import (
	"bufio"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	name := flag.String("name", "", "name of the image")
	root := flag.String("root", "", "directory with the image's files")
	flag.Parse()
	if *name == "" || *root == "" {
		log.Fatal("-name and -root are required")
	}
	parts, err := partsOf(*root)
	if err != nil {
		log.Fatal(err)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(documentOf(*name, parts)); err != nil {
		log.Fatal(err)
	}
}

// part is a package or module with its version, by its package URL.
type part struct {
	name, version, url string
}

// partsOf finds the parts of a root file system, without repetition, sorted by URL.
func partsOf(root string) ([]part, error) {
	found := map[string]part{}
	programs, err := filepath.Glob(filepath.Join(root, "usr/local/bin/*"))
	if err != nil {
		return nil, err
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("%s has no programs in usr/local/bin; is it the root of an image?", root)
	}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s is no Go program: %w", program, err)
		}
		for _, p := range modules(info) {
			found[p.url] = p
		}
	}
	status, err := os.Open(filepath.Join(root, "var/lib/dpkg/status"))
	switch {
	case errors.Is(err, fs.ErrNotExist): // an image without Debian
	case err != nil:
		return nil, err
	default:
		defer func() { _ = status.Close() }() // it was only read
		packages, err := debian(status)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			found[p.url] = p
		}
	}
	var parts []part
	for _, url := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, found[url])
	}
	return parts, nil
}

func modules(info *buildinfo.BuildInfo) []part {
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	parts := []part{
		{name: "stdlib", version: toolchain, url: "pkg:golang/stdlib@" + toolchain},
		{name: info.Main.Path, version: info.Main.Version, url: "pkg:golang/" + info.Main.Path + "@" + info.Main.Version},
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		parts = append(parts, part{name: dep.Path, version: dep.Version, url: "pkg:golang/" + dep.Path + "@" + dep.Version})
	}
	return parts
}

// debian reads dpkg's status: paragraphs of fields, of which only installed packages count.
func debian(r io.Reader) (parts []part, err error) {
	fields := map[string]string{}
	add := func() {
		if fields["Status"] == "install ok installed" {
			parts = append(parts, part{
				name: fields["Package"], version: fields["Version"],
				url: fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", fields["Package"], fields["Version"], fields["Architecture"]),
			})
		}
		clear(fields)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			add()
		} else if key, value, ok := strings.Cut(line, ": "); ok && line[0] != ' ' {
			fields[key] = value
		}
	}
	add()
	return parts, lines.Err()
}

// document is the part of SPDX 2.3 that an image needs.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID       string      `json:"SPDXID"`
	Name     string      `json:"name"`
	Version  string      `json:"versionInfo,omitempty"`
	Location string      `json:"downloadLocation"`
	Analyzed bool        `json:"filesAnalyzed"`
	License  string      `json:"licenseConcluded"`
	Refs     []reference `json:"externalRefs,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// notInID is what SPDX does not allow in an identifier.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func documentOf(name string, parts []part) document {
	const unknown = "NOASSERTION"
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		// The time of an image that is the same whenever it is built.
		Creation:      creation{Created: "1970-01-01T00:00:00Z", Creators: []string{"Tool: storagebench-sbom"}},
		Packages:      []component{{ID: "SPDXRef-image", Name: name, Location: unknown, License: unknown}},
		Relationships: []relationship{{From: "SPDXRef-DOCUMENT", Kind: "DESCRIBES", To: "SPDXRef-image"}},
	}
	content := sha256.New()
	for _, p := range parts {
		// The digest keeps apart what differs in a character that is replaced.
		sum := sha256.Sum256([]byte(p.url))
		id := "SPDXRef-" + notInID.ReplaceAllString(p.name, "-") + "-" + hex.EncodeToString(sum[:4])
		d.Packages = append(d.Packages, component{
			ID: id, Name: p.name, Version: p.version, Location: unknown, License: unknown,
			Refs: []reference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: p.url}},
		})
		d.Relationships = append(d.Relationships, relationship{From: "SPDXRef-image", Kind: "CONTAINS", To: id})
		_, _ = fmt.Fprintln(content, p.url) // a hash takes everything
	}
	d.Namespace = "https://storagebench.io/spdx/" + notInID.ReplaceAllString(name, "-") + "-" + hex.EncodeToString(content.Sum(nil)[:16])
	return d
}

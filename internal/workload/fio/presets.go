package fio

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// presetFiles are job files for what storage is often qualified for. They are read as a
// user's own, by the same allow-list, with one difference: options for files, such as
// filename, are left out on a device instead of being refused.
//
//go:embed presets/*.fio
var presetFiles embed.FS

// preset is a job file that comes with storagebench. All but the text is read from the
// comment at its beginning:
//
//	# What it asks, in one line.
//	#
//	# What it does, and why that is like the real thing.
//	#
//	# modes: Filesystem, Block
//	# look at: METRIC [of JOB]: why
//	# source: ADDRESS
type preset struct {
	name     string
	text     string
	question string
	about    string
	modes    []trial.Mode
	lookAt   []lookAt
	sources  []string
}

// lookAt is a metric that answers the preset's question: of the trial, or of one job.
type lookAt struct{ metric, job, why string }

const fieldPreset = "fio.preset"

// presets returns all of them, sorted by name.
func presets() ([]preset, error) {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		return nil, fmt.Errorf("fio: presets: %w", err)
	}
	var all []preset
	for _, entry := range entries {
		text, err := presetFiles.ReadFile("presets/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("fio: presets: %w", err)
		}
		p, err := readPreset(strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func readPreset(name, text string) (preset, error) {
	p := preset{name: name, text: text}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		if err := p.read(strings.TrimSpace(comment)); err != nil {
			return p, fmt.Errorf("fio: preset %s: %w", name, err)
		}
	}
	p.about = strings.TrimSpace(p.about)
	return p, nil
}

// read takes one line of the comment.
func (p *preset) read(line string) error {
	if p.question == "" {
		p.question = line
		return nil
	}
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "modes":
		for mode := range strings.SplitSeq(value, ", ") {
			p.modes = append(p.modes, trial.Mode(mode))
		}
	case "look at":
		what, why, ok := strings.Cut(value, ": ")
		if !ok {
			return fmt.Errorf("%q does not say why", line)
		}
		metric, job, _ := strings.Cut(what, " of ")
		p.lookAt = append(p.lookAt, lookAt{metric, job, why})
	case "source":
		p.sources = append(p.sources, value)
	default:
		p.about += line + "\n"
	}
	return nil
}

// findPreset returns the preset of that name, or what is wrong with the name.
func findPreset(name string) (preset, error) {
	all, err := presets()
	if err != nil {
		return preset{}, err
	}
	names := make([]string, 0, len(all))
	for _, p := range all {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return preset{}, invalid(fieldPreset, fmt.Sprintf("there is no preset %q", clip(name)), suggest.Remedy(name, names))
}

// checkMode refuses a preset on targets that it says nothing about.
func (p preset) checkMode(mode trial.Mode) error {
	if slices.Contains(p.modes, mode) {
		return nil
	}
	return invalid(fieldPreset, fmt.Sprintf("preset %s works only on targets with volume mode %s, but a target has %s", p.name, p.modes[0], mode), "choose another preset, or remove that target")
}

// without leaves out the options that are for another mode of targets.
func (c catalogue) without(other []section, mode trial.Mode) []section {
	kept := slices.Clone(other)
	for i := range kept {
		kept[i].options = slices.DeleteFunc(slices.Clone(kept[i].options), func(o option) bool {
			a, ok := c[o.name]
			return ok && a.mode != "" && a.mode != mode
		})
	}
	return kept
}

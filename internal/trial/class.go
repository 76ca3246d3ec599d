package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ClassIdentity is what a StorageClass makes volumes with, as it was when the run was planned. The version
// of its driver is not among it: the API does not have that.
type ClassIdentity struct {
	Provisioner string `json:"provisioner"`
	// Parameters of the driver, without those that name secrets. Of many, or long ones, only
	// the first are here; the digest is of all.
	Parameters   map[string]string `json:"parameters,omitempty"`
	MountOptions []string          `json:"mountOptions,omitempty"`
	BindingMode  string            `json:"volumeBindingMode,omitempty"`
	Reclaim      string            `json:"reclaimPolicy,omitempty"`
	// Digest of all that, "sha256:…".
	Digest string `json:"digest"`
}

// Bounds of what a plan records of a class. The API allows 512 parameters with 256 KiB.
const (
	maxClassEntries = 64
	maxClassText    = 256
)

// NewClassIdentity returns the identity of a class: its digest, and its fields without what names secrets
// and within bounds.
func NewClassIdentity(c ClassIdentity) *ClassIdentity {
	parameters := maps.Clone(c.Parameters)
	maps.DeleteFunc(parameters, func(name, _ string) bool { return namesSecret(name) })
	c.Parameters, c.Digest = parameters, ""
	document, err := json.Marshal(c) // with the keys of maps in order
	if err != nil {
		return nil // cannot happen: there are only strings
	}
	sum := sha256.Sum256(document)
	out := &ClassIdentity{
		Provisioner: shortened(c.Provisioner), BindingMode: shortened(c.BindingMode), Reclaim: shortened(c.Reclaim),
		Digest: "sha256:" + hex.EncodeToString(sum[:]),
	}
	for i, name := range slices.Sorted(maps.Keys(parameters)) {
		if i == 0 {
			out.Parameters = map[string]string{}
		}
		if i < maxClassEntries {
			out.Parameters[shortened(name)] = shortened(parameters[name])
		}
	}
	for _, option := range c.MountOptions[:min(len(c.MountOptions), maxClassEntries)] {
		out.MountOptions = append(out.MountOptions, shortened(option))
	}
	return out
}

// namesSecret reports whether a parameter names a Secret, or may be one: plans and documents go to
// stores that more people can read than StorageClasses.
func namesSecret(parameter string) bool {
	name := strings.ToLower(parameter)
	return slices.ContainsFunc([]string{"secret", "passw", "passphrase", "token", "credential", "userkey", "accesskey", "apikey", "privatekey", "encryptionkey"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

func shortened(text string) string {
	if len(text) <= maxClassText {
		return text
	}
	cut := maxClassText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

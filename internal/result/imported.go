package result

import "slices"

// Imported describes from which tool's output a summary was imported.
type Imported struct {
	// Tool is the tool's name: fio, postmark, bonnie or iozone.
	Tool string `json:"tool"`
	// Files that were read.
	Files []ImportedFile `json:"files"`
	// Notes are what readers of the numbers must know.
	Notes []string `json:"notes"`
	// Sums are the targets that are sums of others, as fio adds up its clients. What is said of
	// all targets is not about them.
	Sums []string `json:"sums,omitempty"`
}

// Single returns the rows that are no sums of others.
func (s Summary) Single() []Row {
	if s.Imported == nil || len(s.Imported.Sums) == 0 {
		return s.Rows
	}
	return slices.DeleteFunc(slices.Clone(s.Rows), func(row Row) bool { return slices.Contains(s.Imported.Sums, row.Target) })
}

// ImportedFile is one file of a tool's output.
type ImportedFile struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // sha256:…
}

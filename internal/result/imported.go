package result

// Imported describes from which tool's output a summary was imported.
type Imported struct {
	// Tool is the tool's name: fio, postmark, bonnie or iozone.
	Tool string `json:"tool"`
	// Files that were read.
	Files []ImportedFile `json:"files"`
	// Notes are what readers of the numbers must know.
	Notes []string `json:"notes"`
}

// ImportedFile is one file of a tool's output.
type ImportedFile struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // sha256:…
}

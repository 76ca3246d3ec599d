package result

// Imported says that a summary was made from the output of a tool that somebody ran,
// and what is not known of it.
type Imported struct {
	// Tool is its name: fio, postmark, bonnie or iozone.
	Tool string `json:"tool"`
	// Files are what was read.
	Files []ImportedFile `json:"files"`
	// Notes say what a reader of the numbers must know.
	Notes []string `json:"notes"`
}

// ImportedFile is one file of a tool's output.
type ImportedFile struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // sha256:…
}

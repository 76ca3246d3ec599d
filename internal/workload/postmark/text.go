package postmark

// sourceText is what the original writes: printable characters, the same into every
// file. It draws two for each byte of the largest file, before anything else, of which
// no more are kept than are used.
func sourceText(r *random, maxSize, keep int) []byte {
	text := make([]byte, min(keep, maxSize))
	for i := range 2 * maxSize {
		c := byte(' ' + r.below('~'-' '+1))
		if i < len(text) {
			text[i] = c
		}
	}
	return text
}

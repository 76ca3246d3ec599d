package observe

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// enough is a piece of a longer file in bytes.
const enough = 2048

// source is a file of the kernel's that stays open. Reading it again costs one system call and
// no memory.
type source struct {
	fd int
	// at is where its numbers begin in a row.
	at int
	// parse puts the numbers into row, from at on.
	parse func(text []byte, row []uint64)
}

// read reads the file. If it cannot be read any more, as its disk is gone, the text is empty, and the row
// keeps what it has.
func (s *source) read(buffer []byte, row []uint64) {
	n := 0
	for n < len(buffer) {
		m, err := syscall.Pread(s.fd, buffer[n:], int64(n))
		if err == syscall.EINTR {
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		n += m
		if m < enough {
			break // that was all: the kernel hands out at least so much at a time
		}
	}
	s.parse(buffer[:n], row[s.at:])
}

// open adds a source if its file is there.
func (s *Sampler) open(path string, at int, parse func(text []byte, row []uint64)) bool {
	fd, err := syscall.Open(filepath.Join("/", s.watch.Root, path), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	s.sources = append(s.sources, source{fd: fd, at: at, parse: parse})
	return true
}

// number reads the digits that text begins with, after spaces, and returns what follows them.
func number(text []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == ':' || text[i] == '=') {
		i++
	}
	start := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + uint64(text[i]-'0')
		i++
	}
	return n, text[i:], i > start
}

// numbers reads up to len(out) numbers that spaces separate.
func numbers(text []byte, out []uint64) {
	for i := range out {
		n, rest, ok := number(text)
		if !ok {
			return
		}
		out[i], text = n, rest
	}
}

// first reads a file of one number.
func first(text []byte, row []uint64) { numbers(text, row[:1]) }

// after returns what follows the first line's beginning that is key, or nil.
func after(text []byte, key string) []byte {
	for len(text) > 0 {
		if len(text) > len(key) && string(text[:len(key)]) == key {
			return text[len(key):]
		}
		i := slices.Index(text, '\n')
		if i < 0 {
			return nil
		}
		text = text[i+1:]
	}
	return nil
}

// keyed returns a parser that reads one number for each key, which begins a line.
func keyed(keys ...string) func(text []byte, row []uint64) {
	return func(text []byte, row []uint64) {
		for i, key := range keys {
			if n, _, ok := number(after(text, key)); ok {
				row[i] = n
			}
		}
	}
}

// kstats is keyed for files of ZFS, where a type is between the name and the number.
func kstats(keys ...string) func(text []byte, row []uint64) {
	return func(text []byte, row []uint64) {
		for i, key := range keys {
			_, rest, ok := number(after(text, key))
			if !ok {
				continue
			}
			if n, _, ok := number(rest); ok {
				row[i] = n
			}
		}
	}
}

// pressures reads the totals of a file in /proc/pressure: some, and full.
func pressures(text []byte, row []uint64) {
	for i, key := range [...]string{"some ", "full "} {
		line := after(text, key)
		const total = "total="
		for j := 0; j+len(total) < len(line) && line[j] != '\n'; j++ {
			if string(line[j:j+len(total)]) == total {
				row[i], _, _ = number(line[j+len(total):])
				break
			}
		}
	}
}

// lastNumber reads the number that begins the last line, as in a pool's txgs.
func lastNumber(text []byte, row []uint64) {
	for len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	if n, _, ok := number(text); ok {
		row[0] = n
	}
}

// named returns what follows key in the line of a device, up to the line's end: a number that
// comes after a space or an equals sign.
func named(line []byte, key string) (uint64, bool) {
	for i := 0; i+len(key) < len(line) && line[i] != '\n'; i++ {
		if string(line[i:i+len(key)]) == key {
			n, _, ok := number(line[i+len(key):])
			return n, ok
		}
	}
	return 0, false
}

// cgroupBytes returns a parser of a cgroup's bytes read and written of one device, whose
// MAJOR:MINOR begins its lines: one line in version 2, several in version 1.
func cgroupBytes(device string) func(text []byte, row []uint64) {
	prefix := device + " "
	return func(text []byte, row []uint64) {
		for rest := after(text, prefix); rest != nil; rest = after(rest, prefix) {
			for i, keys := range [...][2]string{{"rbytes=", "Read "}, {"wbytes=", "Write "}} {
				for _, key := range keys {
					if n, ok := named(rest, key); ok {
						row[i] = n
					}
				}
			}
		}
	}
}

// lowestOf returns a parser that puts the lowest limit of any of the devices into the row, if it
// is lower than the one there. 0 is none.
func lowestOf(devices []string, keys [4]string) func(text []byte, row []uint64) {
	prefixes := make([]string, 0, len(devices))
	for _, d := range devices {
		prefixes = append(prefixes, d+" ")
	}
	return func(text []byte, row []uint64) {
		for _, prefix := range prefixes {
			line := after(text, prefix)
			for i, key := range keys {
				if key == none || line == nil {
					continue
				}
				if n, ok := named(line, key); ok && n > 0 && (row[i] == 0 || n < row[i]) {
					row[i] = n
				}
			}
		}
	}
}

// none is no key of a limit's file. The empty key is the line's own number, in version 1.
const none = "-"

// deviceNumber returns a disk's MAJOR:MINOR.
func deviceNumber(root, name string) string {
	return strings.TrimSpace(read(root, filepath.Join("sys/block", name, "dev")))
}

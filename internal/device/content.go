package device

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// A device without a signature can still hold somebody's data: databases and storage
// systems write to raw devices. So a device is refused if any sampled byte is not zero,
// unless a benchmark was the last to write to it: then the first block holds its marker,
// with a digest over the samples of that time.

const (
	markerSize = 4096
	sampleSize = 1 << 20
	// samples is their number between the first and the last. A device with data on 1/20
	// of it is taken for empty in fewer than 4 of 100 cases, even if that data is in one
	// piece.
	samples = 64
)

var markerMagic = []byte("storagebench.io: overwritten by a benchmark, v1\n")

const seedSize = 32

// places returns the offsets that are sampled, the first and the last MiB among
// them. The marker's own block is left out.
func places(size int64, seed [seedSize]byte) []int64 {
	if size <= (samples+2)*sampleSize {
		var all []int64
		for at := int64(0); at < size; at += sampleSize {
			all = append(all, at)
		}
		return all
	}
	random := mathrand.New(mathrand.NewChaCha8(seed))
	out := []int64{0, (size - sampleSize) &^ (markerSize - 1)}
	for range samples {
		out = append(out, random.Int64N(size-sampleSize)&^(markerSize-1))
	}
	return out
}

// sample reads the places and returns a digest over them, and whether every byte
// was zero.
func sample(f *os.File, size int64, seed [seedSize]byte) (digest [sha256.Size]byte, zero bool, err error) {
	// A trial must not find in memory what was read here.
	defer func() { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }()
	sum, buffer, zeros := sha256.New(), make([]byte, sampleSize), make([]byte, sampleSize)
	zero = true
	for _, at := range places(size, seed) {
		n, err := f.ReadAt(buffer[:min(sampleSize, size-at)], at)
		if err != nil && err != io.EOF {
			return digest, false, err
		}
		part := buffer[:n]
		if at == 0 {
			part = part[min(markerSize, n):]
		}
		sum.Write(part)
		zero = zero && bytes.Equal(part, zeros[:len(part)])
	}
	return [sha256.Size]byte(sum.Sum(nil)), zero, nil
}

// refuseContent fails if the device holds data that no benchmark wrote.
func refuseContent(f *os.File, path, field string) error {
	size, err := f.Seek(0, io.SeekEnd)
	head := make([]byte, markerSize)
	if err == nil {
		_, err = f.ReadAt(head, 0)
	}
	if err != nil {
		return unusable(field, fmt.Sprintf("cannot tell whether %s holds data: %v", path, err), "look for I/O errors in the kernel's log on the node (dmesg)", err)
	}
	seed, marked := readMarker(head)
	if !marked {
		_, _ = rand.Read(seed[:]) // never fails
	}
	digest, zero, err := sample(f, size, seed)
	if err != nil {
		return unusable(field, fmt.Sprintf("cannot tell whether %s holds data: %v", path, err), "look for I/O errors in the kernel's log on the node (dmesg)", err)
	}
	found := "data that storagebench did not write, without a known signature"
	switch {
	case marked && bytes.Equal(head, marker(seed, digest)):
		return nil
	case marked:
		found = "data written after the last benchmark"
	case zero && bytes.Equal(head, make([]byte, markerSize)):
		return nil
	}
	return &trial.Failure{
		Class: reason.TargetHoldsData, Field: field,
		Message: fmt.Sprintf("%s holds %s, and the benchmark would overwrite it", path, found),
		Remedy:  fmt.Sprintf("if you do not need it, fill the device with zeros: blkdiscard --zeroout %s", path),
	}
}

func readMarker(head []byte) (seed [seedSize]byte, ok bool) {
	rest, ok := bytes.CutPrefix(head, markerMagic)
	if !ok || len(rest) < seedSize {
		return seed, false
	}
	return [seedSize]byte(rest[:seedSize]), true
}

// marker returns the first block of a device that a benchmark has overwritten.
func marker(seed [seedSize]byte, digest [sha256.Size]byte) []byte {
	block := append([]byte(nil), markerMagic...)
	block = append(append(block, seed[:]...), digest[:]...)
	block = binary.LittleEndian.AppendUint64(block, markerSize)
	return append(block, make([]byte, markerSize-len(block))...)
}

// leaveMarker marks the device's content as a benchmark's.
func leaveMarker(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var seed [seedSize]byte
	_, _ = rand.Read(seed[:]) // never fails
	digest, _, err := sample(f, size, seed)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(marker(seed, digest), 0); err != nil {
		return err
	}
	return f.Sync()
}

//go:build system

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// TestFlushcheckOfADamagedFileSystem: a cut that a disk's lie has made worse leaves a file system that refuses to
// read. ext4 says so of its inodes, btrfs also of data.
func TestFlushcheckOfADamagedFileSystem(t *testing.T) {
	for _, c := range []struct {
		kind   string
		size   int64
		damage func(t *testing.T, device string, record []byte) int64 // offset of a byte
		// What verify says as it is, and with --missing-is-lost.
		plain, missing       string
		plainCode, lostFound int
	}{
		{"ext4", 64 << 20, inodeOfRecords, "30 of them are lost", "30 of them are lost", exitRegression, exitRegression},
		{"btrfs", 128 << 20, firstByteOf, "--missing-is-lost", "1 of them are lost", exitInvalid, exitRegression},
	} {
		t.Run(c.kind, func(t *testing.T) {
			dir, device := t.TempDir(), devicetest.Loop(t, c.size)
			devicetest.Run(t, "mkfs."+c.kind, "-q", device)
			mounted, log, record := t.TempDir(), "", []byte(nil)
			records := filepath.Join(mounted, "records")
			t.Run("before the cut", func(t *testing.T) {
				devicetest.Mount(t, mounted, c.kind, device)
				var at string
				log, at = recordedRun(t, dir, "one")
				data, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(records, data, 0o600); err != nil {
					t.Fatal(err)
				}
				const number, block = 5, 4096
				record = data[(number-1)*block : number*block]
			})
			flip(t, device, c.damage(t, device, record))
			devicetest.Mount(t, mounted, c.kind, device)
			for _, asked := range []struct {
				args []string
				says string
				code int
			}{{nil, c.plain, c.plainCode}, {[]string{"--missing-is-lost"}, c.missing, c.lostFound}} {
				args := append([]string{"flushcheck", "verify", "--log", log, records}, asked.args...)
				stdout, stderr, code := output(t, args...)
				if code != asked.code || !strings.Contains(stdout+stderr, asked.says) {
					t.Errorf("%v exits with %d and says %q %q, expected %d and %q", args, code, stdout, stderr, asked.code, asked.says)
				}
			}
		})
	}
}

var located = regexp.MustCompile(`located at block (\d+), offset (0x[0-9a-f]+)`)

// inodeOfRecords is where ext4 keeps the size of the file "records".
func inodeOfRecords(t *testing.T, device string, _ []byte) int64 {
	t.Helper()
	said := devicetest.Run(t, "debugfs", "-R", "imap /records", device)
	at := located.FindStringSubmatch(said)
	size := regexp.MustCompile(`Block size: +(\d+)`).FindStringSubmatch(devicetest.Run(t, "dumpe2fs", "-h", device))
	if at == nil || size == nil {
		t.Fatalf("debugfs says %q", said)
	}
	block, err1 := strconv.ParseInt(at[1], 10, 64)
	offset, err2 := strconv.ParseInt(at[2], 0, 64)
	each, err3 := strconv.ParseInt(size[1], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	const sizeOfFile = 4 // i_size_lo in struct ext4_inode
	return block*each + offset + sizeOfFile
}

// firstByteOf is where a record is on the device.
func firstByteOf(t *testing.T, device string, record []byte) int64 {
	t.Helper()
	data, err := os.ReadFile(device)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, record)
	if at < 0 {
		t.Fatalf("the record is not on %s", device)
	}
	return int64(at)
}

// flip changes one byte.
func flip(t *testing.T, device string, at int64) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte{0}
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x55
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", device, err))
	}
}

package nbd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// client speaks the protocol byte by byte, so that it can also speak it badly.
type client struct {
	t *testing.T
	*net.UnixConn
	disk   *Disk
	server *Server
}

const diskSize = 1 << 20

func connect(t *testing.T, b Behaviour) *client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	disk := NewDisk(make([]byte, diskSize), b, 1)
	server := NewServer(disk, listener)
	c := dial(t, path)
	c.disk, c.server = disk, server
	t.Cleanup(func() { server.Close() })
	return c
}

func dial(t *testing.T, path string) *client {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t: t, UnixConn: c}
}

func (c *client) send(values ...any) {
	c.t.Helper()
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			c.t.Fatal(err)
		}
	}
	// A server that has had enough hangs up, perhaps before it has read all.
	_, _ = c.Write(b.Bytes())
}

func (c *client) receive(values ...any) {
	c.t.Helper()
	for _, v := range values {
		if err := binary.Read(c, binary.BigEndian, v); err != nil {
			c.t.Fatal(err)
		}
	}
}

// hello receives the server's.
func (c *client) hello() {
	c.t.Helper()
	var a, b uint64
	var flags uint16
	c.receive(&a, &b, &flags)
	if a != helloMagic || b != optionMagic || flags != fixedNewstyle|noZeroes {
		c.t.Fatalf("hello is %x %x %x", a, b, flags)
	}
}

func (c *client) option(number uint32, data []byte) {
	c.t.Helper()
	c.send(uint64(optionMagic), number, uint32(len(data)), data)
}

// reply receives the answer to an option.
func (c *client) reply() (kind uint32, data []byte) {
	c.t.Helper()
	var magic uint64
	var option, length uint32
	c.receive(&magic, &option, &kind, &length)
	if magic != replyMagic {
		c.t.Fatalf("a reply begins with %#x", magic)
	}
	data = make([]byte, length)
	c.receive(data)
	return kind, data
}

// start does the handshake as QEMU does.
func (c *client) start() (flags uint16) {
	c.t.Helper()
	c.hello()
	c.send(uint32(fixedNewstyle | noZeroes))
	c.option(8, nil) // structured replies
	if kind, _ := c.reply(); kind != replyUnsupported {
		c.t.Fatalf("structured replies get %#x", kind)
	}
	c.option(optionGo, []byte{0, 0, 0, 0, 0, 0})
	for {
		kind, data := c.reply()
		switch {
		case kind == replyAck:
			return flags
		case kind != replyInfo:
			c.t.Fatalf("GO gets %#x", kind)
		case binary.BigEndian.Uint16(data) == infoExport:
			if size := binary.BigEndian.Uint64(data[2:]); size != diskSize {
				c.t.Fatalf("the disk has %d bytes", size)
			}
			flags = binary.BigEndian.Uint16(data[10:])
		}
	}
}

// ask sends a request and returns the error of its reply.
func (c *client) ask(kind, flags uint16, offset uint64, length uint32, data []byte) uint32 {
	c.t.Helper()
	c.send(uint32(requestMagic), flags, kind, offset^0x55, offset, length, data)
	var magic, code uint32
	var cookie uint64
	c.receive(&magic, &code, &cookie)
	if magic != simpleMagic || cookie != offset^0x55 {
		c.t.Fatalf("the reply has magic %#x and cookie %#x", magic, cookie)
	}
	return code
}

// ended waits until the server has hung up.
func (c *client) ended() {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
		c.t.Fatal("the server did not hang up:", err)
	}
}

func TestReadsWritesAndFlushes(t *testing.T) {
	c := connect(t, Behaviour{CacheSectors: 4096})
	if flags := c.start(); flags != hasFlags|sendFlush|sendFUA|sendTrim|sendZeroes {
		t.Fatalf("the flags are %#x", flags)
	}
	data := bytes.Repeat([]byte("abcd"), 1024)
	for _, r := range []struct {
		what        string
		kind, flags uint16
		offset      uint64
		data        []byte
		length      uint32
		code        uint32
	}{
		{"write", write, 0, 4096, data, 4096, 0},
		{"write with FUA", write, flagFUA, 16384, data, 4096, 0},
		{"flush", flush, 0, 0, nil, 0, 0},
		{"trim", trim, 0, 4096, nil, 512, 0},
		{"write zeroes", writeZeroes, flagNoHole, 4608, nil, 512, 0},
		{"trim of all", trim, 0, 8192, nil, 8192, 0},
		{"write beyond the end", write, 0, diskSize, data, 4096, errorNoSpace},
		{"write across the end", write, 0, diskSize - 512, data, 4096, errorNoSpace},
		{"write where numbers overflow", write, 0, 1<<63 - 511, data, 4096, errorNoSpace},
		{"write of half a sector", write, 0, 256, data[:256], 256, errorInvalid},
		{"read beyond the end", read, 0, diskSize, nil, 4096, errorInvalid},
		{"read of too much", read, 0, 0, nil, maxPayload + 512, errorInvalid},
		{"trim beyond the end", trim, 0, 0, nil, 1 << 31, errorInvalid},
		{"zeroes beyond the end", writeZeroes, 0, 0, nil, 1 << 31, errorNoSpace},
		{"an unknown request", 77, 0, 0, nil, 0, errorInvalid},
		{"an unknown flag", flush, 1 << 9, 0, nil, 0, errorInvalid},
	} {
		if code := c.ask(r.kind, r.flags, r.offset, r.length, r.data); code != r.code {
			t.Errorf("%s: error %d, expected %d", r.what, code, r.code)
		}
	}
	if code := c.ask(read, 0, 4096, 4096, nil); code != 0 {
		t.Fatal("read: error", code)
	}
	got := make([]byte, 4096)
	c.receive(got)
	if want := append(make([]byte, 1024), data[1024:]...); !bytes.Equal(got, want) {
		t.Error("what is read is not what was written")
	}
	if lost := c.disk.Cut(0); lost != 2+16 {
		t.Errorf("%d sectors are lost, expected the 18 that were trimmed", lost)
	}
	c.send(uint32(requestMagic), uint16(0), uint16(flush), uint64(1), uint64(0), uint32(0))
	c.ended()
	if got := c.disk.Counters(); got.Flushes != 1 || got.FUA != 1 {
		t.Errorf("counted %+v", got)
	}
}

// TestWithoutCache: a disk that writes through says so, as a client then need not flush.
func TestWithoutCache(t *testing.T) {
	c := connect(t, Behaviour{})
	if flags := c.start(); flags&(sendFlush|sendFUA) != 0 {
		t.Errorf("the flags are %#x", flags)
	}
}

func TestHandshake(t *testing.T) {
	name := append([]byte{0, 0, 0, 3}, "abc\x00\x01\x00\x00"...)
	for what, do := range map[string]func(*client){
		"export name, with zeroes": func(c *client) {
			c.send(uint32(fixedNewstyle))
			c.option(optionExportName, []byte("any"))
			reply := make([]byte, 8+2+124)
			c.receive(reply)
			if code := c.ask(flush, 0, 0, 0, nil); code != 0 {
				t.Error("flush: error", code)
			}
		},
		"list, info, go": func(c *client) {
			c.send(uint32(fixedNewstyle | noZeroes))
			c.option(optionList, nil)
			for _, want := range []uint32{replyServer, replyAck} {
				if kind, _ := c.reply(); kind != want {
					t.Errorf("LIST gets %#x, expected %#x", kind, want)
				}
			}
			for _, option := range []uint32{optionInfo, optionGo} {
				c.option(option, name)
				for _, want := range []uint32{replyInfo, replyInfo, replyAck} {
					if kind, _ := c.reply(); kind != want {
						t.Errorf("option %d gets %#x, expected %#x", option, kind, want)
					}
				}
			}
			if code := c.ask(flush, 0, 0, 0, nil); code != 0 {
				t.Error("flush: error", code)
			}
		},
		"malformed go, then another": func(c *client) {
			c.send(uint32(fixedNewstyle | noZeroes))
			for _, data := range [][]byte{nil, {0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 0, 0}, name[:len(name)-1], append(slices.Clip(name), 1)} {
				c.option(optionGo, data)
				if kind, _ := c.reply(); kind != replyInvalid {
					t.Errorf("GO with %x gets %#x", data, kind)
				}
			}
			c.option(optionAbort, nil)
			if kind, _ := c.reply(); kind != replyAck {
				t.Errorf("ABORT gets %#x", kind)
			}
			c.ended()
		},
		"an option of 2 GiB": func(c *client) {
			c.send(uint32(fixedNewstyle|noZeroes), uint64(optionMagic), uint32(optionGo), uint32(1<<31))
			c.ended()
		},
		"options without end": func(c *client) {
			c.send(uint32(fixedNewstyle | noZeroes))
			for range maxOptions + 1 {
				c.option(99, nil)
			}
			c.ended()
		},
		"wrong flags":       func(c *client) { c.send(uint32(1 << 7)); c.ended() },
		"wrong magic":       func(c *client) { c.send(uint32(1), make([]byte, 16)); c.ended() },
		"half of an option": func(c *client) { c.send(uint32(1), uint64(optionMagic)); c.CloseWrite(); c.ended() },
	} {
		t.Run(what, func(t *testing.T) {
			c := connect(t, Behaviour{CacheSectors: 8})
			c.hello()
			do(c)
		})
	}
}

// TestEndsOfConnections: whatever way a client ends, the server ends, too, and what was
// acknowledged before is there.
func TestEndsOfConnections(t *testing.T) {
	header := func(kind uint16, length uint32) []byte {
		var b bytes.Buffer
		for _, v := range []any{uint32(requestMagic), uint16(0), kind, uint64(7), uint64(0), length} {
			_ = binary.Write(&b, binary.BigEndian, v)
		}
		return b.Bytes()
	}
	for what, end := range map[string]struct {
		sent []byte
		bad  bool
	}{
		"says goodbye":                  {header(disconnect, 0), false},
		"closes between requests":       {nil, false},
		"closes within a header":        {header(write, 4096)[:9], true},
		"closes within the magic":       {header(write, 4096)[:2], true},
		"closes within a payload":       {append(header(write, 4096), make([]byte, 100)...), true},
		"announces a payload too large": {header(write, maxPayload+1), true},
		"sends what is no request":      {make([]byte, 28), true},
	} {
		t.Run(what, func(t *testing.T) {
			c := connect(t, Behaviour{CacheSectors: 64})
			c.start()
			if code := c.ask(write, 0, 512, 512, bytes.Repeat([]byte{9}, 512)); code != 0 {
				t.Fatal("write: error", code)
			}
			c.send(end.sent)
			if err := c.CloseWrite(); err != nil && !end.bad {
				t.Fatal(err)
			}
			c.ended()
			if err := c.server.Close(); (err != nil) != end.bad {
				t.Errorf("the server's error is %v", err)
			}
			p := make([]byte, 1024)
			if err := c.disk.Read(p, 0); err != nil || p[0] != 0 || p[512] != 9 {
				t.Errorf("the disk holds %d, %d (%v)", p[0], p[512], err)
			}
		})
	}
}

// TestTooManyClients: the fifth is turned away, and gets in when another has left.
func TestTooManyClients(t *testing.T) {
	c := connect(t, Behaviour{})
	path := c.RemoteAddr().String()
	c.hello()
	var others []*client
	for range maxConnections - 1 {
		other := dial(t, path)
		other.hello()
		others = append(others, other)
	}
	dial(t, path).ended()
	others[0].Close()
	for {
		again := dial(t, path)
		var first uint64
		err := binary.Read(again, binary.BigEndian, &first)
		if err == nil && first == helloMagic {
			return
		}
		if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Fatal(err)
		}
	}
}

// TestNoise: no bytes crash the server, make it hang or write outside of the disk.
func TestNoise(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		c := connect(t, Behaviour{CacheSectors: 8})
		if seed%2 == 0 {
			c.start()
		} else {
			c.hello()
			c.send(uint32(fixedNewstyle))
		}
		for range 1 + random.IntN(5) {
			noise := make([]byte, random.IntN(200))
			for i := range noise {
				noise[i] = byte(random.Uint32() >> (random.IntN(2) * 28))
			}
			if seed%2 == 0 {
				c.send(uint32(requestMagic), uint16(random.IntN(4)), uint16(random.IntN(8)), seed, random.Uint64()>>random.IntN(64), random.Uint32()>>random.IntN(32), noise)
			} else {
				c.send(uint64(optionMagic), uint32(random.IntN(10)), uint32(len(noise)), noise)
			}
		}
		_ = c.CloseWrite() // it may have hung up already
		c.ended()
		c.Close()
	}
}

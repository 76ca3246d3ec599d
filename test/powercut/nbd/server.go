package nbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Numbers of the protocol.
const (
	helloMagic   = 0x4e42444d41474943 // "NBDMAGIC"
	optionMagic  = 0x49484156454f5054 // "IHAVEOPT"
	replyMagic   = 0x3e889045565a9
	requestMagic = 0x25609513
	simpleMagic  = 0x67446698

	fixedNewstyle, noZeroes = 1, 2 // flags of both sides

	optionExportName, optionAbort, optionList, optionInfo, optionGo = 1, 2, 3, 6, 7

	replyAck, replyServer, replyInfo          = 1, 2, 3
	replyUnsupported, replyInvalid, replyHuge = 1<<31 + 1, 1<<31 + 3, 1<<31 + 9
	infoExport, infoBlockSize                 = 0, 3
	hasFlags, sendFlush, sendFUA, sendTrim    = 1, 4, 8, 32
	sendZeroes                                = 64
	read, write, disconnect, flush, trim      = 0, 1, 2, 3, 4
	writeZeroes                               = 6
	flagFUA, flagNoHole                       = 1, 2
	errorIO, errorInvalid, errorNoSpace       = 5, 22, 28
	maxOption, maxOptions                     = 4096, 64
	maxPayload                                = 32 << 20
	maxConnections                            = 4
)

// Server serves one disk.
type Server struct {
	disk     *Disk
	listener net.Listener

	mu          sync.Mutex
	connections map[net.Conn]bool
	closed      bool
	errors      []error
	wait        sync.WaitGroup
}

// NewServer serves the disk to whoever connects to the listener, until Close.
func NewServer(disk *Disk, listener net.Listener) *Server {
	s := &Server{disk: disk, listener: listener, connections: map[net.Conn]bool{}}
	s.wait.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			if !s.enter(c) {
				_ = c.Close()
				continue
			}
			s.wait.Go(func() { s.leave(c, s.serve(c)) })
		}
	})
	return s
}

func (s *Server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.connections) >= maxConnections {
		return false
	}
	s.connections[c] = true
	return true
}

// leave hangs up last: a client that sees it finds the error recorded.
func (s *Server) leave(c net.Conn, err error) {
	defer func() { _ = c.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
	const kept = 16
	if err != nil && !s.closed && len(s.errors) < kept {
		s.errors = append(s.errors, err)
	}
}

// Close closes the listener, ends all connections and waits for them. It returns what was wrong
// with what clients sent.
func (s *Server) Close() error {
	_ = s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for c := range s.connections {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
	return errors.Join(s.errors...)
}

// conn is one client.
type conn struct {
	disk   *Disk
	in     *bufio.Reader
	out    *bufio.Writer
	buffer []byte
}

// serve speaks with a client until one of both has enough. A client that hangs up between
// requests, and a cut, are no errors.
func (s *Server) serve(c net.Conn) error {
	k := &conn{disk: s.disk, in: bufio.NewReaderSize(c, 64<<10), out: bufio.NewWriterSize(c, 64<<10)}
	ready, err := k.handshake()
	for err == nil && ready {
		ready, err = k.request()
	}
	if errors.Is(err, errNoPower) {
		return nil
	}
	return err
}

// put writes numbers in the order of the network.
func (k *conn) put(values ...any) {
	for _, v := range values {
		_ = binary.Write(k.out, binary.BigEndian, v) // bufio keeps the error for Flush
	}
}

func (k *conn) get(values ...any) error {
	for _, v := range values {
		if err := binary.Read(k.in, binary.BigEndian, v); err != nil {
			return err
		}
	}
	return nil
}

func (k *conn) exportFlags() uint16 {
	flags := uint16(hasFlags | sendTrim | sendZeroes)
	if k.disk.behaviour.CacheSectors > 0 {
		flags |= sendFlush | sendFUA
	}
	return flags
}

// handshake returns whether the client goes on to requests.
func (k *conn) handshake() (bool, error) {
	k.put(uint64(helloMagic), uint64(optionMagic), uint16(fixedNewstyle|noZeroes))
	if err := k.out.Flush(); err != nil {
		return false, err
	}
	var flags uint32
	if err := k.get(&flags); err != nil {
		return false, fmt.Errorf("handshake: %w", err)
	}
	if flags&fixedNewstyle == 0 || flags&^(fixedNewstyle|noZeroes) != 0 {
		return false, fmt.Errorf("handshake: unknown flags %#x", flags)
	}
	for range maxOptions {
		done, ready, err := k.option(flags&noZeroes != 0)
		err = errors.Join(err, k.out.Flush())
		if done || err != nil {
			return ready && err == nil, err
		}
	}
	return false, fmt.Errorf("handshake: more than %d options", maxOptions)
}

func (k *conn) option(short bool) (done, ready bool, err error) {
	var magic uint64
	var option, length uint32
	if err := k.get(&magic, &option, &length); err != nil {
		return true, false, fmt.Errorf("option: %w", err)
	}
	if magic != optionMagic {
		return true, false, fmt.Errorf("option: wrong magic %#x", magic)
	}
	reply := func(kind uint32, data ...any) {
		size := 0
		for _, d := range data {
			size += binary.Size(d)
		}
		k.put(uint64(replyMagic), option, kind, uint32(size))
		k.put(data...)
	}
	if length > maxOption {
		reply(replyHuge)
		return true, false, fmt.Errorf("option %d has %d bytes", option, length)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(k.in, data); err != nil {
		return true, false, fmt.Errorf("option %d: %w", option, err)
	}
	switch option {
	case optionExportName: // whatever its name: there is one disk
		k.put(uint64(k.disk.size), k.exportFlags())
		if !short {
			k.put(make([]byte, 124))
		}
		return true, true, nil
	case optionAbort:
		reply(replyAck)
		return true, false, nil
	case optionList:
		reply(replyServer, uint32(0))
		reply(replyAck)
	case optionInfo, optionGo:
		if !wellFormed(data) {
			reply(replyInvalid)
			return false, false, nil
		}
		reply(replyInfo, uint16(infoExport), uint64(k.disk.size), k.exportFlags())
		reply(replyInfo, uint16(infoBlockSize), uint32(Sector), uint32(4096), uint32(maxPayload))
		reply(replyAck)
		return option == optionGo, true, nil
	default:
		reply(replyUnsupported)
	}
	return false, false, nil
}

// wellFormed returns whether that is a name and a list of what the client wants to know.
func wellFormed(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	name := uint64(binary.BigEndian.Uint32(data))
	if uint64(len(data)) < 4+name+2 {
		return false
	}
	wanted := binary.BigEndian.Uint16(data[4+name:])
	return uint64(len(data)) == 4+name+2+2*uint64(wanted)
}

// request answers one request, and returns whether there may be another.
func (k *conn) request() (bool, error) {
	var magic, length uint32
	var flags, kind uint16
	var cookie, offset uint64
	if err := k.get(&magic); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil // hung up between requests
		}
		return false, err
	}
	if err := k.get(&flags, &kind, &cookie, &offset, &length); err != nil {
		return false, fmt.Errorf("request: %w", err)
	}
	switch {
	case magic != requestMagic:
		return false, fmt.Errorf("request: wrong magic %#x", magic)
	case kind == disconnect:
		return false, nil
	case kind == write && length > maxPayload:
		// What follows cannot be told from requests without reading all of it.
		return false, fmt.Errorf("a write of %d bytes is more than the %d that were announced", length, maxPayload)
	}
	data, err := k.act(kind, flags, offset, length)
	if errors.Is(err, errNoPower) || errors.Is(err, errBroken) {
		return false, err
	}
	k.put(uint32(simpleMagic), code(err, kind), cookie)
	if err == nil {
		_, _ = k.out.Write(data)
	}
	return true, k.out.Flush()
}

// errBroken: the connection ended within a request.
var errBroken = errors.New("the connection ended within a request")

var errUnknown = errors.New("no such request, or a read of too much")

func (k *conn) act(kind, flags uint16, offset uint64, length uint32) ([]byte, error) {
	var data []byte
	// TRIM and WRITE_ZEROES have no payload, and may be as large as the disk.
	if (kind == read || kind == write) && length <= maxPayload {
		if len(k.buffer) < int(length) {
			k.buffer = make([]byte, length)
		}
		data = k.buffer[:length]
	}
	if kind == write {
		if _, err := io.ReadFull(k.in, data); err != nil {
			return nil, errors.Join(errBroken, err)
		}
	}
	if flags&^(flagFUA|flagNoHole) != 0 || length > maxPayload && kind == read {
		return nil, errUnknown
	}
	if offset > 1<<62 {
		return nil, errRange
	}
	fua := flags&flagFUA != 0
	switch kind {
	case read:
		return data, k.disk.Read(data, int64(offset))
	case write:
		return nil, k.disk.Write(data, int64(offset), fua)
	case flush:
		return nil, k.disk.Flush()
	case trim, writeZeroes:
		return nil, k.disk.Zero(int64(offset), int64(length), fua)
	}
	return nil, errUnknown
}

// code is the protocol's number for an error.
func code(err error, kind uint16) uint32 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRange) && (kind == write || kind == writeZeroes):
		return errorNoSpace
	case errors.Is(err, errRange), errors.Is(err, errAlignment), errors.Is(err, errUnknown):
		return errorInvalid
	}
	return errorIO
}

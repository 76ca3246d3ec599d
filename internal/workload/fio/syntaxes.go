package fio

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Syntaxes of single options.

var (
	sequential = []string{"read", "write", "rw", "readwrite", "trim", "trimwrite"}
	atRandom   = []string{"randread", "randwrite", "randrw", "randtrim", "randtrimwrite"}
)

// patternName is a pattern. A sequential one may skip some bytes after each I/O, also backwards
// (read:512k); one at random may do some I/Os before it jumps (randread:8).
func patternName() syntax {
	return syntax{name: "read, write, randread, randwrite, rw, readwrite, randrw, trim, randtrim, trimwrite or randtrimwrite; with :N, see fio's manual", check: func(v string) (string, error) {
		name, step, has := strings.Cut(v, ":")
		random := slices.Contains(atRandom, name)
		switch {
		case !random && !slices.Contains(sequential, name):
			return "", &choiceError{name, slices.Concat(sequential, atRandom)}
		case !has:
			return name, nil
		case random:
			n, err := integer(1, 1<<30).check(step)
			return name + ":" + n, err
		}
		back, minus := strings.CutPrefix(step, "-")
		n, err := size(0, maxSize).check(back)
		if minus {
			n = "-" + n
		}
		return name + ":" + n, err
	}}
}

// engineName is an engine that works on the target's files or device.
func engineName() syntax {
	names := []string{"libaio", "io_uring", "psync", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap"}
	const (
		own       = "it has a target of its own"
		ofFiles   = "it measures what is done with files, and no I/O"
		memory    = "it works on persistent memory, past the page cache and the block layer"
		elsewhere = "it is for another operating system; libaio is the like here"
	)
	other := map[string]string{
		"falloc": ofFiles, "ftruncate": ofFiles, "e4defrag": ofFiles, "filecreate": ofFiles, "filestat": ofFiles, "filedelete": ofFiles, "filexattr": ofFiles, "dircreate": ofFiles, "dirstat": ofFiles, "dirdelete": ofFiles,
		"libpmem": memory, "dev-dax": memory, "pmemblk": memory, "mtd": "it works on raw flash", "windowsaio": elsewhere, "solarisaio": elsewhere,
		"libzbc": zoned, "libblkio": own, "libcufile": "it moves data into the memory of a GPU", "libhipfile": "it moves data into the memory of a GPU", "xnvme": "it sends NVMe commands past the target",
		"cpp_null": "it does no I/O", "page_fault": "it does no I/O", "splice": "it moves pages through a pipe and reads into no buffer, which hardly any program does",
		"null": "it does no I/O", "cpuio": "it does no I/O", "net": "it measures a network", "netsplice": "it measures a network", "rdma": "it measures a network",
		"sg": "it sends SCSI commands past the target", "io_uring_cmd": "it sends NVMe commands past the target", "exec": "it starts a program", "external": "it loads a library",
		"rbd": own, "rados": own, "http": own, "libhdfs": own,
		"gfapi": own, "nfs": own, "nbd": own, "libiscsi": own, "dfs": own,
	}
	return syntax{name: strings.Join(names, ", "), check: func(v string) (string, error) {
		if v == "aio" || v == "linuxaio" {
			return "libaio", nil
		}
		kind, _, _ := strings.Cut(v, ":")
		if why := other[kind]; why != "" {
			return "", fmt.Errorf("the engine %s is not allowed: %s", clip(kind), why)
		}
		if !slices.Contains(names, v) {
			return "", &choiceError{v, names}
		}
		return v, nil
	}}
}

// signed is a whole number that may be negative.
func signed() syntax {
	return syntax{name: "number, also negative", check: func(v string) (string, error) {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return "", fmt.Errorf("%q is not a whole number", clip(v))
		}
		return strconv.FormatInt(n, 10), nil
	}}
}

// orPercent also takes a percentage from 0 to 100.
func orPercent(of syntax) syntax {
	return syntax{name: of.name + " or percentage", numeric: true, check: func(v string) (string, error) {
		p, ok := strings.CutSuffix(v, "%")
		if !ok {
			return of.check(v)
		}
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || n > 100 {
			return "", fmt.Errorf("%q is not a percentage from 0%% to 100%%", clip(v))
		}
		return strconv.FormatUint(n, 10) + "%", nil
	}}
}

// sizeOrRange is a size, or a range that each file's size is drawn from.
func sizeOrRange(of syntax) syntax {
	return syntax{name: "size, or a range as 4k-64k", numeric: true, check: func(v string) (string, error) {
		if strings.ContainsAny(v, "-:,") {
			return sizeRange(of).check(v)
		}
		return of.check(v)
	}}
}

// delay is a time, or a range of times.
func delay(of syntax) syntax {
	return syntax{name: of.name + ", or a range", timed: true, check: func(v string) (string, error) {
		low, high, ranged := strings.Cut(v, "-")
		a, err := of.check(low)
		if err != nil || !ranged {
			return a, err
		}
		b, err := of.check(high)
		if err == nil && number(strings.TrimSuffix(a, "us")) > number(strings.TrimSuffix(b, "us")) {
			return "", fmt.Errorf("%q: %s is more than %s", clip(v), low, high)
		}
		return a + "-" + b, err
	}}
}

// serviceType is how files are chosen, and after how many I/Os another is.
func serviceType() syntax {
	kinds := []string{"random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"}
	return syntax{name: strings.Join(kinds, ", ") + "; with :N, see fio's manual", check: func(v string) (string, error) {
		kind, parameter, has := strings.Cut(v, ":")
		if !slices.Contains(kinds, kind) {
			return "", &choiceError{kind, kinds}
		}
		if !has {
			return kind, nil
		}
		f, err := float(1e9).check(parameter)
		return kind + ":" + f, err
	}}
}

// distribution is random, or zipf, pareto, normal with parameters, or zones with the share of
// I/Os that each has.
func distribution() syntax {
	kinds := []string{"random", "zipf", "pareto", "normal", "zoned", "zoned_abs"}
	return syntax{name: "random, zipf:θ, pareto:h, normal:σ, zoned:90/10:10/90, zoned_abs:95/10g:5/90g", check: func(v string) (string, error) {
		kind, parameter, has := strings.Cut(v, ":")
		switch {
		case !slices.Contains(kinds, kind):
			return "", &choiceError{kind, kinds}
		case strings.HasPrefix(kind, "zoned"):
			zones, err := zonesOf(parameter, kind == "zoned_abs")
			return kind + ":" + zones, err
		case !has:
			return kind, nil
		}
		first, centre, has := strings.Cut(parameter, ":")
		f, err := strconv.ParseFloat(first, 64)
		switch {
		case err != nil || math.IsNaN(f) || f < 0 || f >= 100:
			return "", fmt.Errorf("%q is not a number from 0 to 100", clip(first))
		case kind == "zipf" && f == 1:
			return "", fmt.Errorf("zipf:1 is not defined; write zipf:1.01, for example")
		case kind == "pareto" && (f == 0 || f >= 1):
			return "", fmt.Errorf("pareto needs a number between 0 and 1, not %s", clip(first))
		}
		canonical := kind + ":" + strconv.FormatFloat(f, 'f', -1, 64)
		if !has {
			return canonical, nil
		}
		c, err := float(1).check(centre)
		return canonical + ":" + c, err
	}}
}

// zonesOf reads 60/10:40/90: a percentage of I/Os, and one of the file, or a size.
func zonesOf(text string, absolute bool) (string, error) {
	zones := strings.Split(text, ":")
	if len(zones) > 256 || strings.Contains(text, ",") {
		return "", fmt.Errorf("%q is not one list of up to 256 zones", clip(text))
	}
	for i, zone := range zones {
		share, of, ok := strings.Cut(zone, "/")
		share, err := integer(0, 100).check(share)
		if err != nil || !ok {
			return "", fmt.Errorf("%q is not a zone like 60/10", clip(zone))
		}
		measure := orEmpty(integer(0, 100))
		if absolute {
			measure = size(0, maxSize)
		}
		if of, err = measure.check(strings.TrimSuffix(of, "%")); err != nil {
			return "", err
		}
		zones[i] = share + "/" + of
	}
	return strings.Join(zones, ":"), nil
}

func orEmpty(of syntax) syntax {
	return syntax{check: func(v string) (string, error) {
		if v == "" {
			return "", nil
		}
		return of.check(v)
	}}
}

// steady is iops:5%, bw_slope:0.3% and the like.
func steady() syntax {
	kinds := []string{"iops", "iops_slope", "bw", "bw_slope"}
	return syntax{name: "iops, iops_slope, bw or bw_slope, with :number or :percentage", check: func(v string) (string, error) {
		kind, limit, _ := strings.Cut(v, ":")
		if !slices.Contains(kinds, kind) {
			return "", &choiceError{kind, kinds}
		}
		plain, percent := strings.CutSuffix(limit, "%")
		f, err := float(1e15).check(plain)
		if percent {
			f += "%"
		}
		return kind + ":" + f, err
	}}
}

// percentiles are up to 20 numbers with colons between.
func percentiles() syntax {
	return syntax{name: "up to 20 percentiles with : between", check: func(v string) (string, error) {
		parts := strings.FieldsFunc(v, func(r rune) bool { return r == ':' || r == ',' })
		if len(parts) == 0 || len(parts) > 20 {
			return "", fmt.Errorf("%q has %d percentiles, not 1 to 20", clip(v), len(parts))
		}
		for i, part := range parts {
			f, err := float(100).check(part)
			if err != nil {
				return "", err
			}
			parts[i] = f
		}
		return strings.Join(parts, ":"), nil
	}}
}

// syncRange is a list of steps, as wait_before,write:8.
func syncRange() syntax {
	return syntax{name: "wait_before, write and wait_after with , between, and :N", check: func(v string) (string, error) {
		kinds, every, has := strings.Cut(v, ":")
		for kind := range strings.SplitSeq(kinds, ",") {
			if known := []string{"wait_before", "write", "wait_after"}; !slices.Contains(known, kind) {
				return "", &choiceError{kind, known}
			}
		}
		if !has {
			return kinds, nil
		}
		n, err := integer(1, anyNumber).check(every)
		return kinds + ":" + n, err
	}}
}

// dataPattern is what blocks hold: numbers, text in double quotes, and where fio takes it %o for the offset. Text
// in single quotes is the name of a file to fio, which is not read. Canonical is one
// hexadecimal number for each part, or %o.
func dataPattern(offsets bool) syntax {
	name, hint := `hexadecimal or decimal number, or "text"`, "a pattern of numbers like 0xdeadbeef, or of text in double quotes"
	if offsets {
		name, hint = name+", or %o", hint+", or %o"
	}
	return syntax{name: name, check: func(v string) (string, error) {
		bad := fmt.Errorf("%q is not %s", clip(v), hint)
		if len(v) > 512 || v == "" {
			return "", bad
		}
		if text, ok := strings.CutPrefix(v, `"`); ok {
			text, ok = strings.CutSuffix(text, `"`)
			if !ok || text == "" || strings.ContainsAny(text, `"\`) {
				return "", bad
			}
			return "0x" + hex.EncodeToString([]byte(text)), nil
		}
		if offsets && v == "%o" {
			return v, nil
		}
		if digits, ok := strings.CutPrefix(strings.ToLower(v), "0x"); ok {
			if digits == "" || strings.Trim(digits, "0123456789abcdef") != "" {
				return "", bad
			}
			return "0x" + digits, nil
		}
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil {
			return "", bad
		}
		return strconv.FormatUint(n, 10), nil
	}}
}

// logName is the name of a log, which is ours.
func logName() syntax {
	return syntax{name: "any name, or none", bare: "1", check: func(string) (string, error) { return "1", nil }}
}

// submitMode is who submits I/Os.
func submitMode() syntax {
	s := oneOf("inline")
	choice := s.check
	s.check = func(v string) (string, error) {
		if v == "offload" {
			return "", errors.New("offload: fio 3.33 hangs at the end of such a job; remove it, or use offeredRate for I/O that begins on time")
		}
		return choice(v)
	}
	return s
}

// zoneMode is how zones of a file or a device are used.
func zoneMode() syntax {
	s := oneOf("none", "strided")
	choice := s.check
	s.check = func(v string) (string, error) {
		if v == "zbd" {
			return "", errors.New("zbd: " + zoned)
		}
		return choice(v)
	}
	return s
}

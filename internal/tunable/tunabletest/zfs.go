package tunabletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/tunable"
)

// dataset is a dataset of a pool. It inherits the properties that it does not
// hold.
type dataset struct {
	guid     string
	local    map[string]string
	received map[string]string
}

// PoolGUID is the GUID of every pool.
const PoolGUID = "1000"

// Create creates a dataset.
func (k *Kernel) Create(name, guid string) {
	k.zfs[name] = &dataset{guid: guid, local: map[string]string{}, received: map[string]string{}}
}

// Destroy destroys a dataset.
func (k *Kernel) Destroy(name string) { delete(k.zfs, name) }

// Rename renames a dataset.
func (k *Kernel) Rename(from, to string) {
	k.zfs[to] = k.zfs[from]
	delete(k.zfs, from)
}

// Receive sets a property as zfs receive does.
func (k *Kernel) Receive(name, property, value string) { k.zfs[name].received[property] = value }

// ZFS runs zfs as an administrator would. It panics if zfs fails.
func (k *Kernel) ZFS(args ...string) string {
	out, err := k.run(context.Background(), append([]string{"zfs"}, args...))
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(out)
}

var defaults = map[string]string{
	"sync": "standard", "recordsize": "131072", "compression": "on", "atime": "on", "logbias": "latency", "primarycache": "all",
}

func (k *Kernel) property(name, property string) (value, source string) {
	for at := name; at != ""; {
		d := k.zfs[at]
		if d != nil {
			own := "local"
			v, ok := d.local[property]
			if !ok {
				own = "received"
				v, ok = d.received[property]
			}
			if ok && at == name {
				return v, own
			}
			if ok {
				return v, "inherited from " + at
			}
		}
		cut := strings.LastIndex(at, "/")
		if cut < 0 {
			break
		}
		at = at[:cut]
	}
	return defaults[property], "default"
}

// run simulates zfs and zpool, as far as package tunable calls them, and hdparm where it is installed. nvme is
// not.
func (k *Kernel) run(_ context.Context, argv []string) (string, error) {
	line := strings.Join(argv, " ")
	last := argv[len(argv)-1]
	d := k.zfs[last]
	switch {
	case argv[0] == "hdparm" && k.hdparm && len(argv) == 3:
		return k.runHdparm(argv[1], last)
	case strings.HasPrefix(line, "zpool get -H -p -o value guid "):
		return PoolGUID + "\n", nil
	case line == "zpool get -H -p -o name,value guid":
		for name := range k.zfs {
			pool, _, _ := strings.Cut(name, "/")
			return pool + "\t" + PoolGUID + "\n", nil
		}
		return "", nil
	case strings.HasPrefix(line, "zfs get -r -H -p -o name,value -t filesystem,volume guid "):
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(k.zfs)) {
			if name == last || strings.HasPrefix(name, last+"/") {
				fmt.Fprintf(&out, "%s\t%s\n", name, k.zfs[name].guid)
			}
		}
		return out.String(), nil
	case argv[0] != "zfs":
		return "", &tunable.MissingError{Program: argv[0], Err: errors.New("not in this machine")}
	case d == nil:
		return "", fmt.Errorf("cannot open '%s': dataset does not exist", last)
	case strings.HasPrefix(line, "zfs get -H -p -o value guid "):
		return d.guid + "\n", nil
	case strings.HasPrefix(line, "zfs get -H -p -o value,source "):
		if defaults[argv[6]] == "" {
			return "", fmt.Errorf("bad property list: invalid property '%s'", argv[6])
		}
		value, source := k.property(last, argv[6])
		return value + "\t" + source + "\n", nil
	case argv[1] == "set" && len(argv) == 4:
		name, value, _ := strings.Cut(argv[2], "=")
		if k.Refuse != nil {
			if err := k.Refuse(name); err != nil {
				return "", err
			}
		}
		if name == "compression" && value == "gzip-6" {
			value = "gzip" // as zfs reads it
		}
		d.local[name] = value
		return "", nil
	case argv[1] == "inherit":
		name := argv[len(argv)-2]
		delete(d.local, name)
		if argv[2] != "-S" {
			delete(d.received, name)
		}
		return "", nil
	default:
		return "", fmt.Errorf("the simulated zfs does not support: %s", line)
	}
}

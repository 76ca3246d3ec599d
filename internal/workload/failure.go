package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// Decode reads the configuration of an engine into c, which holds the defaults. A
// field that c does not have is refused.
func Decode(engine string, raw json.RawMessage, c any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		if name, ok := unknownField(err); ok {
			return &trial.Failure{Class: reason.InvalidSpec, Field: engine + "." + name, Message: fmt.Sprintf("%s has no field %q", engine, name), Remedy: suggest.Remedy(name, fieldNames(c)), Err: err}
		}
		return &trial.Failure{Class: reason.InvalidSpec, Field: engine, Message: "cannot read the configuration: " + err.Error(), Remedy: "kubectl explain storagebenchmark.spec.workloads." + engine + " lists its fields", Err: err}
	}
	return nil
}

// unknownField returns the name in encoding/json's error about a field that the
// configuration does not have.
func unknownField(err error) (string, bool) {
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return "", false
	}
	name, err := strconv.Unquote(quoted)
	return name, err == nil
}

// fieldNames returns the JSON names of the fields of the struct that c points to.
func fieldNames(c any) []string {
	var names []string
	t := reflect.TypeOf(c).Elem()
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Field returns the absolute path of a field of the workload.
func (e Env) Field(relative string) string {
	return "spec.workloads[" + e.Workload.Name + "]." + relative
}

// InSpec makes the field of a failure that Check returns absolute.
func (e Env) InSpec(err error) error {
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		return err
	}
	f.Field, f.Workload = e.Field(f.Field), e.Workload.Name
	return f
}

// SizeField returns the field of the spec that determines the target's size.
func (e Env) SizeField() string {
	leaf := map[trial.Source]string{
		trial.StorageClass:          "storageClass.size",
		trial.PersistentVolumeClaim: "persistentVolumeClaim.claimName",
		trial.HostPath:              "hostPath.path",
		trial.BlockDevice:           "blockDevice.path",
	}[e.Target.Source]
	return "spec.targets[" + e.Target.Name + "]." + leaf
}

// TooSmall returns the failure of a target without enough room. need and have are in bytes.
func (e Env) TooSmall(need, have uint64, remedy string) *trial.Failure {
	what := "the volume"
	if e.Target.Mode == trial.Block {
		what = "the device"
	}
	return &trial.Failure{
		Class:    reason.TargetTooSmall,
		Field:    e.SizeField(),
		Message:  fmt.Sprintf("workload %s needs %s, but %s has only %s available", e.Workload.Name, Human(need), what, Human(have)),
		Remedy:   remedy,
		Workload: e.Workload.Name,
	}
}

// Unusable returns the failure of a target that cannot be examined.
func (e Env) Unusable(err error) *trial.Failure {
	return &trial.Failure{Class: reason.TargetUnusable, Field: e.SizeField(), Message: err.Error(), Remedy: "check the kernel log on the node", Workload: e.Workload.Name, Err: err}
}

// Refused turns the error of a system call on the target into a failure: the target is full,
// read-only or broken, or the file system does not support an open flag.
func (e Env) Refused(engine, operation string, err error) *trial.Failure {
	f := &trial.Failure{Class: reason.WorkloadFailed, Field: e.Field(engine), Message: operation + ": " + err.Error(), Workload: e.Workload.Name, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Class, f.Field = reason.NoSpace, e.SizeField()
		f.Message = "the target became full while " + engine + " wrote to it: " + operation + ": " + err.Error()
		f.Remedy = "make the target larger or lower the workload's size, and check what else writes to it; a file system can also run out of inodes"
	case errors.Is(err, syscall.EROFS):
		f.Class, f.Field = reason.TargetUnusable, e.SizeField()
		f.Message, f.Remedy = "the target is read-only: "+operation+": "+err.Error(), "mount it read-write; if the kernel made it read-only after an error, the kernel log on the node says so"
	case errors.Is(err, syscall.EIO):
		f.Class, f.Field = reason.TargetUnusable, e.SizeField()
		f.Remedy = "do not trust this storage until the cause is known: check the kernel log on the node"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.Remedy = "lower the number of threads, or raise the limit of open files on the node"
	}
	return f
}

// Human writes a size with a binary suffix and up to one digit after the point.
func Human(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}

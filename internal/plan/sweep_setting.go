package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// notSwept are fields of engines that are not one value.
var notSwept = []string{"jobFile", "commandLine", "preset", "parameters", "variables", "include"}

// set gives a workload's parameter a value: a field of its engine; or of fio an option of parameters,
// or a variable.
func set(w *v1alpha1.Workload, s setting) *trial.Failure {
	encoded, err := json.Marshal(w)
	if err != nil {
		return failure(err.Error(), "")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return failure(err.Error(), "")
	}
	delete(fields, "name")
	if len(fields) != 1 {
		return nil // the schema, and buildWorkload, say that there must be one
	}
	engine := slices.Collect(maps.Keys(fields))[0]
	err = errors.New("it is not one value")
	if !isOneOf(notSwept, s.parameter) {
		err = setField(w, engine, fields[engine], s)
	}
	switch {
	case err == nil:
		return nil
	case engine == "fio" && (!isField(err) || isOneOf(notSwept, s.parameter)):
		return setOption(w.Fio, s)
	case !isField(err):
		return failure(fmt.Sprintf("%s has no field %q", engine, s.parameter), "docs/reference/api.md lists its fields")
	default:
		return failure(fmt.Sprintf("%q is not a value of %s: %v", s.value, s.parameter, err), "docs/reference/api.md describes the field")
	}
}

// isOneOf reports whether a parameter is in a list, in any case, as JSON takes it.
func isOneOf(names []string, parameter string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, parameter) })
}

// isField reports whether an error of setField is about the value of a field that there is.
func isField(err error) bool { return !strings.Contains(err.Error(), "unknown field") }

// setField sets a field of an engine as its JSON would: to the value itself, or to it as a string.
func setField(w *v1alpha1.Workload, engine string, config json.RawMessage, s setting) error {
	quoted, err := json.Marshal(s.value)
	if err != nil {
		return err
	}
	for _, value := range []json.RawMessage{json.RawMessage(s.value), quoted} {
		if !json.Valid(value) || strings.ContainsAny(string(value), "{[") {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(config, &fields); err != nil {
			return err
		}
		// JSON takes a name in any case, and of two the last: the value would have no effect.
		for name := range fields {
			if name != s.parameter && strings.EqualFold(name, s.parameter) {
				return fmt.Errorf("unknown field %q: it is %q", s.parameter, name)
			}
		}
		fields[s.parameter] = value
		var encoded []byte
		if encoded, err = json.Marshal(map[string]any{"name": w.Name, engine: fields}); err != nil {
			return err
		}
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.DisallowUnknownFields()
		out := v1alpha1.Workload{}
		if err = decoder.Decode(&out); err == nil {
			*w = out
			return nil
		}
	}
	return err
}

func failure(message, remedy string) *trial.Failure {
	return trial.AsFailure(invalid("", message, remedy))
}

// setOption sets an option of fio.parameters, or a variable of a job file or a command line.
func setOption(fio *v1alpha1.FioWorkload, s setting) *trial.Failure {
	if fio.Parameters != nil {
		fio.Parameters[s.parameter] = v1alpha1.Text(s.value)
		return nil
	}
	if _, ok := fio.Variables[s.parameter]; ok {
		fio.Variables[s.parameter] = v1alpha1.Text(s.value)
		return nil
	}
	choices := append(slices.Sorted(maps.Keys(fio.Variables)), "offeredRate")
	return failure(fmt.Sprintf("fio has neither a field nor a variable %q", s.parameter),
		"write ${NAME} in the job file and give it a value in fio.variables, which can be swept; or use fio.parameters. "+suggest.Remedy(s.parameter, choices))
}

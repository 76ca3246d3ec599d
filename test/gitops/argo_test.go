package gitops

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const directory = "../../config/gitops"

// argoHealth runs the health script of a kind as Argo CD does: with the libraries package, base and
// table only, the object as the global obj, and one second of time.
func argoHealth(t *testing.T, kind string, object map[string]any) (health, message string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(directory, "argocd", strings.ToLower(kind)+"-health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	vm.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	vm.SetGlobal("obj", table(vm, object))
	if err := vm.DoString(string(script)); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	answer, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns a %s, not a table", vm.Get(-1).Type())
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

// table turns JSON's values into Lua's.
func table(vm *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		out := vm.NewTable()
		for key, entry := range v {
			out.RawSetString(key, table(vm, entry))
		}
		return out
	case []any:
		out := vm.NewTable()
		for _, entry := range v {
			out.Append(table(vm, entry))
		}
		return out
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// Package workload is the seam between the runner and the engines.
//
// An Engine turns a workload's configuration into measurements of a target.
// There is one package per engine below this one (fio, …); package engines lists
// them, in one line each. The runner knows engines by this interface only, and
// so does the operator, which asks Check before anything is created.
//
// What does the work, Prepare and Run, happens in a process of its own, without
// privileges: package apart stands between the runner and every engine.
//
// An engine never uses a shell, never writes outside Env.Dir (or Env.Device) and
// Env.Scratch, and returns a *trial.Failure when what went wrong has a cause that
// the user can mend.
package workload

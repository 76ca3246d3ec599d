// Package workload is the seam between the runner and the engines.
//
// An Engine turns a workload's configuration into measurements of a target.
// There is one package per engine below this one (fio, …); package engines lists
// them, in one line each. The runner knows engines only by this interface, and
// so does the operator, which calls Check before it creates anything.
//
// Prepare and Run work in a process of their own, without privileges: package apart stands
// between the runner and every engine.
//
// An engine never uses a shell, and never writes outside Env.Dir (or Env.Device) and
// Env.Scratch. If the user can correct what went wrong, it returns a *trial.Failure.
package workload

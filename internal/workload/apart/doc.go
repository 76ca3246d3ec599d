// Package apart runs every engine in a process of its own, without privileges.
//
// The runner may have every privilege, because it changes settings of the node and opens its
// devices. Engines need none. They execute what a tenant wrote, on storage that the tenant
// may use at the same time, and some are large programs that others wrote. So the Prepare
// and Run of this package's Engine happen in another process:
//
//  1. The runner starts its own program again, as "storagebench engine", in a PID and a
//     mount namespace of its own if it has the privileges to (process.go).
//  2. That process has read nothing but the runner's arguments yet. It confines itself
//     (confine.go). It makes everything that is mounted read-only and without devices. It
//     mounts a /proc with its own processes only, and a /dev with null, zero, full, random
//     and urandom. Below /mnt it mounts what the engine may use: the run's directory, which
//     it finds without following a link, on a mount without devices, set-user-ID and links;
//     the scratch directory; a node of its own for the device. It becomes the user 60853,
//     which nothing but engines should use (on a node, all processes with that number are
//     one user), gives up every capability, sets no_new_privs, and starts the program once
//     more, so that nothing from before is left in its memory.
//  3. The new process reads its request from the runner and executes it (serve.go). fio and
//     other tools are its children.
//  4. It writes back what the engine measured. The tools run as the same user and could
//     write in its place. So the runner reads up to a limit, and trusts the reply no more
//     than any document that a tenant can write (reply.go).
//
// A runner without privileges (a Pod of the restricted level, or a user on a machine) starts
// the same processes in the same way, but they keep its user and its mounts, without
// capabilities.
//
// The process starts before the measured time, and its own CPU time counts as the runner's.
// When the runner asks it to end, it has as long as a tool has; then it is killed, with
// everything that it started. If the runner dies, the kernel kills it. If the process dies,
// the trial fails and the runner continues. If it cannot be killed, because it waits for
// storage in the kernel, the worker ends.
package apart

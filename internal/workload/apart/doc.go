// Package apart runs every engine in a process of its own, which has no privileges.
//
// The runner may have all the privileges that there are: it changes settings of the node
// and opens its devices. Engines need none. They carry out what a tenant has written, on
// storage to which the tenant may have access at the same time, and some are large
// programs of others. So an Engine of this package is one whose Prepare and Run happen
// elsewhere:
//
//  1. The runner starts its own program again, as "storagebench engine", in a PID and a
//     mount namespace of its own if it has the privileges to (process.go).
//  2. That process, which nobody but the runner has told anything yet, confines itself
//     (confine.go). It makes everything that is mounted read-only and without devices. It
//     mounts a /proc with its own processes only, and a /dev with null, zero, full, random
//     and urandom. Below /mnt it mounts what the engine may use: the run's directory, which
//     it finds without following a link, on a mount without devices, set-user-ID and links;
//     the scratch directory; a node of its own for the device. It becomes the user 60853,
//     as whom nothing but engines should run (on a node, all processes of that number are
//     one user), gives up every capability, sets no_new_privs, and starts the program once
//     more, so that nothing of before is left in its memory.
//  3. That last process reads from the runner what to do, and does it (serve.go). fio
//     and the like are its children.
//  4. It writes back what the engine measured. The programs that it runs have its user and
//     so could write in its place: the runner reads no more than a limit, and believes no
//     more of it than of any document that a tenant can write (reply.go).
//
// A runner without privileges (a Pod of the restricted level, a user on a machine) starts
// the same processes in the same way, but they stay what it is: its user, its mounts, no
// capabilities.
//
// The process begins before the time that is measured, and its own CPU time counts as the
// runner's. When the runner asks it to end it has as long as a tool has, then it is killed
// with all that it started. When the runner dies the kernel kills it. When it dies,
// whatever the reason, the trial fails and the runner goes on.
package apart

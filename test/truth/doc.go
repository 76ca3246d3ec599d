// Package truth tells storagebench lies, and counts which of them it believes.
//
// In: kinds of wrong numbers (cases_test.go: what a workload asks for, limits and neighbours;
// layers_test.go: what is below the target), each as two worlds made of real devices, file
// systems and cgroups: one in which a benchmark's number is not what it seems, and a twin that is
// as like it as can be, and honest. Out: the confusion matrix. A lie is found if the row has the
// verdict that names it; a twin is accused if its row has any verdict that the world does not
// deserve.
//
// Worlds by chance (chance_test.go) are put together of storage, a job and a disturbance; what must and may be
// said of one follows from its parts. They find what nobody has thought of.
//
// The script hack/test-truth counts; docs/explanation/test-truth.md explains.
//
// The program under test is the real "storagebench run", started as a user would. Worlds stand
// on loop devices of their own: the machine's disks are never changed.
package truth

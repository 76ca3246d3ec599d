// Package postmark is a PostMark of our own: it creates files, runs transactions on
// them (read or append, and create or delete), and deletes what is left.
//
// What is done is decided apart from doing it. A script (script.go) draws from a
// Mersenne Twister (random.go) which file of a table (table.go) comes next and how
// many bytes; it touches nothing, so that its counts can be tested against those of
// NetApp's program to the last file. A worker (worker.go) carries the decisions out,
// one in each thread, and counts (tally.go).
//
// There are two modes. In mode Compatible, settings and seed give the decisions of the
// original, one by one: counts and bytes are equal, only times differ. Mode Modern has
// threads, each with a directory, a share of the files and a sequence of its own;
// durability that was asked for; data that cannot be compressed; latencies; and it
// tells what transactions did from what they only attempted.
//
// A trial has three phases: create, transactions, delete. All threads end one before
// any begins the next, and the time of each is its own (run.go). Metrics without
// further name are those of the phase of transactions (metrics.go).
//
// A trial works in a directory of its own below Env.Dir and removes it, however it
// ends. What a trial left that was killed, Prepare removes.
package postmark

// Command scale measures what the operator costs in a large cluster: memory, CPU and API
// requests for each benchmark, how soon it acts on a change, and whether anything is
// lost when it is killed.
//
// The operator is the real one, a process with the rights that the chart grants. So are
// etcd, the API server, the Job controller, the garbage collector and the object store,
// all on the loopback interface. Nodes are KWOK's. Workers are simulated by this
// program, which speaks their protocol: it reads a Pod's plan and grant, uploads trials
// and summary through the signed URLs, and leaves the receipt as the termination
// message. See docs/how-to/scale.md.
//
// Progress goes to the standard error; the last line of the standard output is the verdict.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

type settings struct {
	benchmarks, small, nodes, trials, inflight int
	work, idleFor, every, limit                time.Duration
	changeCount, kills, failovers              int
	backing                                    string
	programs                                   programs
}

func main() {
	s := settings{}
	flag.IntVar(&s.benchmarks, "benchmarks", 10000, "benchmarks of the large mix; one of 500 has many nodes")
	flag.IntVar(&s.small, "small", 100, "benchmarks of the small mix, whose costs are compared")
	flag.IntVar(&s.nodes, "nodes", 1000, "nodes")
	flag.IntVar(&s.trials, "trials", 3, "trials of a worker")
	flag.IntVar(&s.inflight, "inflight", 100, "benchmarks of the one-by-one groups that run at a time; each that ends starts the next")
	flag.DurationVar(&s.work, "work", time.Second, "how long a worker takes")
	flag.DurationVar(&s.idleFor, "idle", time.Minute, "how long the idle operator is watched")
	flag.IntVar(&s.changeCount, "changes", 120, "changes of single benchmarks")
	flag.IntVar(&s.failovers, "failover-benchmarks", 100, "benchmarks that run while leaders are killed, again and again until enough are")
	flag.IntVar(&s.kills, "kills", 4, "leaders that are killed")
	flag.DurationVar(&s.every, "kill-every", 30*time.Second, "time between two kills")
	flag.DurationVar(&s.limit, "limit", 4*time.Hour, "when to give up")
	flag.StringVar(&s.backing, "backing", "/dev/shm", "directory of everything that is written")
	flag.StringVar(&s.programs.assets, "assets", os.Getenv("KUBEBUILDER_ASSETS"), "directory of etcd and kube-apiserver")
	flag.StringVar(&s.programs.controllerManager, "kube-controller-manager", "", "program")
	flag.StringVar(&s.programs.kwok, "kwok", "", "program")
	flag.StringVar(&s.programs.minio, "minio", "", "program")
	flag.StringVar(&s.programs.manager, "manager", "bin/manager", "program of the operator")
	flag.Parse()
	os.Exit(run(s))
}

// run prints the closing line and returns the exit code.
func run(s settings) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	v := &verdict{}
	begun := time.Now()
	if err := inDirectory(ctx, s, v); err != nil {
		v.check(false, "%v", err)
	}
	v.figures = append(v.figures, fmt.Sprintf("%s in all", time.Since(begun).Round(time.Second)))
	fmt.Println(v.line())
	if v.short {
		return 1
	}
	return 0
}

// inDirectory runs the bench in a directory of its own, which is removed.
func inDirectory(ctx context.Context, s settings, v *verdict) (err error) {
	dir, err := os.MkdirTemp(s.backing, "storagebench-scale-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log, err := os.Create(filepath.Join(dir, "bench.log"))
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(log)))
	return inCluster(ctx, s, dir, v)
}

func inCluster(ctx context.Context, s settings, dir string, v *verdict) (err error) {
	c, err := newCluster(ctx, dir, s.programs, s.nodes)
	defer func() { err = errors.Join(err, c.close()) }()
	if err != nil {
		return err
	}
	b := &bench{settings: s, cluster: c, operator: &operator{cluster: c}, kubelets: newKubelets(c, s.work)}
	defer b.operator.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if b.tracker, err = newTracker(ctx, c); err != nil {
		return err
	}
	if err := b.kubelets.run(ctx); err != nil {
		return err
	}
	if err := b.operator.add(); err != nil {
		return err
	}
	if err := c.awaitStore(ctx); err != nil {
		return fmt.Errorf("the operator does not find its ResultStore available: %w", errors.Join(err, b.alive()))
	}
	if err = b.run(ctx, v); err != nil {
		for _, r := range b.operator.running() {
			fmt.Fprintf(os.Stderr, "the end of the log of %s:\n%s\n", r.name, tail(r.log, 3000))
		}
	}
	return err
}

// bench is the state that the phases share.
type bench struct {
	settings
	cluster  *cluster
	operator *operator
	kubelets *kubelets
	tracker  *tracker
	// keys of the benchmarks that have run, and the trials that they should have
	// stored
	keys     []client.ObjectKey
	expected int
	killed   atomic.Int64
}

func (b *bench) alive() error { return errors.Join(b.cluster.alive(), b.operator.alive()) }

// run goes through the phases. A phase beyond its limit does not stop the next one.
func (b *bench) run(ctx context.Context, v *verdict) error {
	large := newMix("large", b.benchmarks, b.nodes, b.trials, 0)
	// The small mix should not count what is done once, such as opening
	// connections.
	if _, err := b.measure(ctx, newMix("warm-up", 10, b.nodes, b.trials, 0.2)); err != nil {
		return err
	}
	smallCost, err := b.measure(ctx, newMix("small", b.small, b.nodes, b.trials, large.wideShare()))
	if err != nil {
		return err
	}
	largeCost, err := b.measure(ctx, large)
	if err != nil {
		return err
	}
	v.costs(smallCost, largeCost)
	share, err := b.idle(ctx, b.idleFor)
	if err != nil {
		return err
	}
	v.idle(share, b.idleFor)
	seconds, err := b.changes(ctx, b.changeCount)
	if err != nil {
		return err
	}
	v.delays(seconds)
	killed, err := b.failover(ctx, newMix("failover", b.failovers, b.nodes, b.trials, large.wideShare()))
	if err != nil {
		return err
	}
	lost, repeated, stored, err := b.verify(ctx)
	if err != nil {
		return err
	}
	v.check(killed >= b.kills && lost == 0 && repeated == 0 && stored == b.expected,
		"%d leaders killed, %d trials of %d benchmarks stored (%d planned), %d lost, %d run again", killed, stored, len(b.keys), b.expected, lost, repeated)
	for _, r := range b.operator.running() {
		if _, err := b.operator.read(ctx, r); err != nil {
			return err
		}
	}
	v.memory(b.operator.peakMemory, b.operator.peakHeap)
	return nil
}

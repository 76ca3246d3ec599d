package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// MaxTrials bounds the trials of a worker: its grant holds three signed URLs of
// about 500 bytes for each, and a Secret holds 1 MiB.
const MaxTrials = 500

// MaxWorkers bounds the workers of a run: one object holds its status.
const MaxWorkers = 1000

// Checker finds what is wrong with an engine's configuration.
type Checker interface {
	// Check returns a *trial.Failure with Field relative to the workload.
	Check(engine string, config json.RawMessage, mode trial.Mode) error
	// Duration is how long one trial measures, or 0 if the engine cannot know.
	Duration(engine string, config json.RawMessage) time.Duration
	// Memory is how much a configuration may allocate, and the field that says so, relative to
	// the workload; 0 if that is not more than UsualMemory.
	Memory(engine string, config json.RawMessage, mode trial.Mode) (bytes uint64, field string)
	// Pace is the field or the option with which a configuration chooses its rate; empty: the
	// workload is as fast as the storage.
	Pace(engine string, config json.RawMessage) (option string)
	// UsualMemory is what a worker has for the tools of any workload.
	UsualMemory() uint64
}

// DefaultWorkloadMemory is how much the tools of a workload may allocate if the operator says
// nothing else.
const DefaultWorkloadMemory = 4 << 30

// Input is all that a plan depends on.
type Input struct {
	Benchmark *v1alpha1.StorageBenchmark
	// Run is the ID of the run.
	Run string
	// Nodes that measure, in order.
	Nodes []string
	// Modes by target name, for targets whose mode the spec does not tell (an
	// existing claim) or that the command line replaces.
	Modes map[string]trial.Mode
	// Variants of the spec, each tunable with where it may be set.
	Variants []trial.Variant
	// Classes by target name, of those whose StorageClass is known.
	Classes map[string]*trial.ClassIdentity
	// Engines checks the workloads.
	Engines Checker
	// WorkloadMemory is how many bytes the tools of a workload may allocate; 0:
	// DefaultWorkloadMemory.
	WorkloadMemory uint64
}

// Build builds the plan. Its error is a *trial.Failure if the spec is the
// reason.
func Build(in Input) (*trial.Plan, error) {
	whole := *in.Benchmark
	whole.Spec = WithDefaults(whole.Spec)
	b := &whole
	in.Benchmark = b
	p := &trial.Plan{
		Schema:    trial.PlanSchema,
		Benchmark: trial.Benchmark{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)},
		Run:       in.Run,
	}
	for _, t := range b.Spec.Targets {
		target, err := buildTarget(t, in.Modes[t.Name])
		if err != nil {
			return nil, err
		}
		target.Class = in.Classes[t.Name]
		p.Targets = append(p.Targets, target)
	}
	if err := in.workloads(p); err != nil {
		return nil, err
	}
	var err error
	if p.ExtraMemory, err = in.extraMemory(p); err != nil {
		return nil, err
	}
	variants := Variants(b.Spec)
	if p.Variants = in.Variants; len(p.Variants) != len(variants) {
		return nil, fmt.Errorf("plan: got permissions for %d of the spec's %d variants", len(p.Variants), len(variants))
	}
	compare, err := buildCompare(b.Spec, p)
	if err != nil {
		return nil, err
	}
	if p.Gates, err = buildGates(b.Spec, p.Workloads); err != nil {
		return nil, err
	}
	if err := checkKnees(b.Spec, p, compare); err != nil {
		return nil, err
	}
	p.Compare = compare
	if err := checkBaseline(b.Spec.Baseline); err != nil {
		return nil, err
	}
	p.Order, p.Seed = string(cmp.Or(b.Spec.Trials.Order, v1alpha1.OrderInterleaved)), seedOf(p)
	if p.Volumes, err = in.volumes(p); err != nil {
		return nil, err
	}
	if err := in.trials(p); err != nil {
		return nil, err
	}
	p.Workers = workers(p, in.Nodes)
	if p.Stop != nil && len(p.Workers) > 0 {
		p.Stop.BudgetSeconds /= float64(len(p.Workers))
	}
	return p, nil
}

// Duration is how long the trials of all workers measure, one after the other; of a plan that may
// stop early, those that it has in any case. Of the rounds of a precondition it counts as many as there
// may be. Trials of unknown duration count as none, and so does all that is done between two trials.
func Duration(p *trial.Plan, engines Checker) time.Duration {
	var worker time.Duration
	each := map[string]time.Duration{} // by workload, as there may be thousands of trials
	for _, w := range p.Workloads {
		each[w.Name] = engines.Duration(w.Engine, w.Config)
		worker += time.Duration(MostRounds(w)) * each[w.Name]
	}
	for _, t := range p.Trials {
		if p.Stop != nil && t.Repeat > p.Stop.Min {
			continue
		}
		worker += each[t.Workload]
	}
	nanoseconds, workers := worker.Nanoseconds(), int64(len(p.Workers))
	if workers > 0 && nanoseconds > math.MaxInt64/workers {
		return math.MaxInt64
	}
	return time.Duration(nanoseconds * workers)
}

func buildTarget(t v1alpha1.Target, mode trial.Mode) (trial.Target, error) {
	out := trial.Target{Name: t.Name}
	field := "spec.targets[" + t.Name + "]"
	switch {
	case t.StorageClass != nil:
		out.Source, out.Ref, out.Generated = trial.StorageClass, t.StorageClass.Name, true
		out.Mode = trial.Filesystem
		if t.StorageClass.VolumeMode == corev1.PersistentVolumeBlock {
			out.Mode = trial.Block
		}
	case t.PersistentVolumeClaim != nil:
		out.Source, out.Ref = trial.PersistentVolumeClaim, t.PersistentVolumeClaim.ClaimName
		out.RunAsUser, out.FSGroup = t.PersistentVolumeClaim.RunAsUser, t.PersistentVolumeClaim.FSGroup
		out.Mode = mode
		if mode == trial.Block && !t.PersistentVolumeClaim.AllowDataDestruction {
			return out, invalid(field+".persistentVolumeClaim.allowDataDestruction",
				fmt.Sprintf("claim %s has volumeMode Block, and the benchmark would overwrite the data on it", out.Ref),
				"set it to true if you do not need the data on the volume")
		}
	case t.HostPath != nil:
		out.Source, out.Ref, out.Mode = trial.HostPath, t.HostPath.Path, trial.Filesystem
	case t.BlockDevice != nil:
		out.Source, out.Ref, out.Mode = trial.BlockDevice, t.BlockDevice.Path, trial.Block
		if !t.BlockDevice.AllowDataDestruction {
			return out, invalid(field+".blockDevice.allowDataDestruction",
				"the benchmark would overwrite the device", "set it to true if you do not need the data on it")
		}
	default:
		return out, invalid(field, "the target has no source", "set exactly one of storageClass, persistentVolumeClaim, hostPath and blockDevice")
	}
	if mode != "" {
		// The command line replaces it: the given path decides, and we did not
		// create what is there.
		out.Mode, out.Generated = mode, false
	}
	return out, nil
}

// maxConfigs bounds the settings of a plan's workloads, in bytes: the plan must fit into a ConfigMap.
const maxConfigs = 640 << 10

// workloads fills in the workloads, each at every point of its sweep.
func (in Input) workloads(p *trial.Plan) error {
	spec := in.Benchmark.Spec
	if err := checkTunableSweeps(spec); err != nil {
		return err
	}
	all := make([][]point, len(spec.Workloads))
	size := 0
	for i, w := range spec.Workloads {
		points, err := pointsOf(w)
		if err != nil {
			return err
		}
		for _, at := range points {
			workload, err := buildWorkload(w, at, p.Targets, in.Engines)
			if err != nil {
				return err
			}
			if n := len(p.Workloads); at.knee != nil && n > 0 && p.Workloads[n-1].Name == workload.Name {
				p.Workloads = p.Workloads[:n-1] // both ends of a search are checked, and it begins with the lower
			}
			p.Workloads = append(p.Workloads, workload)
			if size += len(workload.Config); size > maxConfigs {
				return &trial.Failure{
					Class: reason.LimitExceeded, Field: "spec.workloads[" + w.Name + "].sweep",
					Message: fmt.Sprintf("the settings of all workloads are more than %d KiB, as each point of a sweep has all of its workload's", maxConfigs>>10),
					Remedy:  "sweep fewer values, shorten the job file, or split the benchmark",
				}
			}
		}
		all[i] = points
	}
	p.Sweeps = sweeps(spec, all, Variants(spec))
	return nil
}

// buildWorkload returns a workload of the spec at a point of its sweep.
func buildWorkload(of v1alpha1.Workload, at point, targets []trial.Target, engines Checker) (trial.Workload, error) {
	w, field := at.workload, "spec.workloads["+of.Name+"]"
	encoded, err := json.Marshal(w)
	if err != nil {
		return trial.Workload{}, fmt.Errorf("plan: workload %s: %w", w.Name, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return trial.Workload{}, fmt.Errorf("plan: workload %s: %w", w.Name, err)
	}
	delete(fields, "name")
	if len(fields) != 1 {
		return trial.Workload{}, invalid(field, "the workload has "+suggest.Count(len(fields), "engine"), "set exactly one, for example fio")
	}
	out := trial.Workload{Name: w.Name, Knee: at.knee}
	if len(at.settings) > 0 {
		if out.Of = of.Name; sharesFiles(w, at.settings) {
			out.Files = of.Name
		}
	}
	for engine, config := range fields {
		out.Engine, out.Config = engine, config
	}
	for _, mode := range modesOf(targets) {
		err := engines.Check(out.Engine, out.Config, mode)
		if failure, ok := errors.AsType[*trial.Failure](err); ok {
			failure.Field = field + "." + cmp.Or(failure.Field, out.Engine)
			failure.Workload = w.Name
			if len(at.settings) > 0 {
				failure.Message = "with " + at.text() + ": " + failure.Message
			}
			return out, failure
		}
		if err != nil {
			return out, fmt.Errorf("plan: workload %s: %w", w.Name, err)
		}
	}
	out.Precondition, err = preconditionOf(field+".precondition", of.Precondition, out, engines)
	return out, err
}

// modesOf returns the modes of targets, each once: there are fewer of them, and engines ask for no more.
func modesOf(targets []trial.Target) (modes []trial.Mode) {
	for _, t := range targets {
		if !slices.Contains(modes, t.Mode) {
			modes = append(modes, t.Mode)
		}
	}
	return modes
}

// workers returns one worker for each target on each node, and for each volume. A node is acquired
// once, and every volume is measured before the next one of any target. Where targets are
// compared, their order is drawn for each volume.
func workers(p *trial.Plan, nodes []string) []trial.Worker {
	random := rand.New(rand.NewPCG(p.Seed, uint64(len(p.Targets))<<32))
	var out []trial.Worker
	for _, node := range nodes {
		for volume := 1; volume <= max(p.Volumes, 1); volume++ {
			targets := slices.Clone(p.Targets)
			if p.ComparesTargets() {
				random.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
			}
			for _, t := range targets {
				w := trial.Worker{Name: workerName(t.Name, node), Target: t.Name, Node: node}
				if p.Volumes > 0 {
					w.Volume = volume
					w.Name = workerName(fmt.Sprintf("%s_%d", t.Name, volume), node) // no target's name has a _
				}
				out = append(out, w)
			}
		}
	}
	return out
}

// workerName returns <target>.<node>, which is unique because a target's name
// has no dot. It is a label value, so a long one ends with a hash.
func workerName(target, node string) string {
	name := target + "." + node
	if len(name) <= 63 {
		return name
	}
	return name[:54] + "-" + Hash(name)
}

// Hash returns 8 hexadecimal digits of the SHA-256 of parts, for names.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

// RunID returns the name of the run that is next. It is made of the user's spec.runID, the
// generation of the spec (a spec that is changed and changed back starts another
// run), and the object's UID (so does a benchmark that is deleted and created
// again). One that the annotation asks for is named for its value too, and for the run before it: a
// value that is set again later is another run.
func RunID(b *v1alpha1.StorageBenchmark) string {
	of := []string{string(b.UID)}
	if RerunAsked(b) {
		of = append(of, Rerun(b), b.Status.Run.ID)
	}
	id := fmt.Sprintf("g%d-%s", b.Generation, Hash(of...))
	if b.Spec.RunID != "" {
		id = b.Spec.RunID + "-" + id
	}
	return id
}

// maxRerun is the length of a value of the annotation that the status shows as it is.
const maxRerun = 63

// Rerun is what a run records of the annotation storagebench.io/rerun: its value or, of one that is
// long or not a plain word, its hash. Every value asks for a run, whatever is in it, so none is wrong.
func Rerun(b *v1alpha1.StorageBenchmark) string {
	value := b.Annotations[v1alpha1.AnnotationRerun]
	plain := func(r rune) bool { return r > ' ' && r < 0x7f }
	if len(value) <= maxRerun && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0 {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// RerunAsked reports whether the annotation asks for another run than the recorded one. An
// annotation that is removed asks for nothing.
func RerunAsked(b *v1alpha1.StorageBenchmark) bool {
	asked := Rerun(b)
	return asked != "" && b.Status.Run != nil && b.Status.Run.Rerun != asked
}

// SpecHash returns the hash of everything in a spec that, when changed, asks for another run:
// all of it but suspend, ttlAfterFinished and timeout. A default that is written out is no change.
func SpecHash(spec v1alpha1.StorageBenchmarkSpec) string {
	spec.Timeout = nil
	return hashWithTimeout(WithDefaults(spec))
}

// LegacySpecHash is what SpecHash was up to release 0.2, where a changed timeout started another
// run. It tells a spec that was not changed while the operator was upgraded.
//
// The API server had written its defaults into specs then, but not those of fields that are newer: it is
// the hash of the spec as it is or, if somebody has applied it without those defaults since, WithDefaults.
func LegacySpecHash(spec v1alpha1.StorageBenchmarkSpec) string { return hashWithTimeout(spec) }

func hashWithTimeout(spec v1alpha1.StorageBenchmarkSpec) string {
	spec.Suspend, spec.TTLAfterFinished = false, nil
	b, err := json.Marshal(spec)
	if err != nil {
		return "unreadable: " + err.Error() // cannot happen: the spec was decoded from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func invalid(field, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Field: field, Message: message, Remedy: remedy}
}

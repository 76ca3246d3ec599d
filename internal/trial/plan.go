package trial

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/reason"
)

// PlanSchema is the version of the Plan document.
const PlanSchema = "storagebench.io/plan.v1"

// Plan is one run: every worker executes Trials, in order, on its own target.
type Plan struct {
	Schema    string     `json:"schema"`
	Benchmark Benchmark  `json:"benchmark"`
	Run       string     `json:"run"`
	Targets   []Target   `json:"targets"`
	Workloads []Workload `json:"workloads"`
	// Sweeps are workloads of the spec that are measured at several points, each of which is one of
	// Workloads, or a variant.
	Sweeps []Sweep `json:"sweeps,omitempty"`
	// Variants to measure, the control first; none if the storage is measured as it
	// is.
	Variants []Variant `json:"variants,omitempty"`
	// Compare is what is compared; nil: the variants, if there are any.
	Compare *Compare `json:"compare,omitempty"`
	// Gates are the limits that decide whether the storage is good enough.
	Gates []Gate `json:"gates,omitempty"`
	// Order of the trials: Interleaved, Random or Sequential. Empty in plans of releases that
	// only had the first.
	Order string `json:"order,omitempty"`
	// Seed that the order was drawn with; another run has another one.
	Seed uint64 `json:"seed,omitempty"`
	// Stop says when a worker measures a workload no more before it has run all Trials; absent:
	// it runs all of them.
	Stop   *Stop   `json:"stop,omitempty"`
	Trials []Trial `json:"trials"`
	// Volumes is how many volumes, or rounds, each target has on each node; absent: one.
	Volumes int `json:"volumes,omitempty"`
	// ExtraMemory is how many bytes more than usual the tools of a workload may allocate: a
	// worker's memory limit is raised by it.
	ExtraMemory uint64 `json:"extraMemory,omitempty"`
	// Workers in the order in which they run.
	Workers []Worker `json:"workers"`
}

// Benchmark identifies the StorageBenchmark that a plan was made from. UID is
// empty where there is no cluster.
type Benchmark struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Mode is how a target is accessed.
type Mode string

// Modes of a target.
const (
	Filesystem Mode = "Filesystem" // a directory
	Block      Mode = "Block"      // a raw block device
)

// Source is where a target comes from, for the messages that name its field.
type Source string

// Sources of a target, named like the fields of the API.
const (
	StorageClass          Source = "storageClass"
	PersistentVolumeClaim Source = "persistentVolumeClaim"
	HostPath              Source = "hostPath"
	BlockDevice           Source = "blockDevice"
)

// Target is one piece of storage. Its path is not in the plan: the worker gets
// it separately (in an immutable Job, or on the command line).
type Target struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	// Ref is the name of the StorageClass or claim, or the path on the host, for
	// display.
	Ref  string `json:"ref"`
	Mode Mode   `json:"mode"`
	// Generated reports that the volume was created for this run, so that an
	// old signature on it is not anybody's data.
	Generated bool `json:"generated,omitempty"`
	// Class is what the StorageClass makes volumes with; absent: it is none, or of an older release.
	Class *ClassIdentity `json:"class,omitempty"`
	// RunAsUser and FSGroup of the worker's Pod, for an existing claim whose user asked
	// for them.
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	FSGroup   *int64 `json:"fsGroup,omitempty"`
}

// Workload is one engine with its configuration: the JSON of the API field that
// has the engine's name. Only the engine reads it.
type Workload struct {
	Name   string          `json:"name"`
	Engine string          `json:"engine"`
	Config json.RawMessage `json:"config"`
	// Of is the name in the spec of a workload that is a point of its sweep; else empty.
	Of string `json:"of,omitempty"`
	// Files is the name under which points of a sweep share their files; empty: its own.
	Files string `json:"files,omitempty"`
	// Knee is the search that the workload's trials are probes of; nil: they are repeats.
	Knee *Knee `json:"knee,omitempty"`
	// Precondition is what runs before the workload's first trial in an attempt; nil: nothing.
	Precondition *Precondition `json:"precondition,omitempty"`
}

// Precondition is rounds of a workload that are not measured.
type Precondition struct {
	// MaxRounds is the highest number of rounds. If Judged, they end earlier when the rate is steady.
	MaxRounds int `json:"maxRounds"`
	// Judged reports whether the rounds are to become steady; else there are exactly MaxRounds.
	Judged bool `json:"judged,omitempty"`
	// Rate that each round of a search offers, in operations per second; 0: the workload's own.
	Rate int64 `json:"rate,omitempty"`
}

// Knee is a search for the highest rate at which a latency is at most a limit.
type Knee struct {
	Metric string `json:"metric"`
	// Limit in seconds, and Text as the spec has it.
	Limit float64 `json:"limit"`
	Text  string  `json:"text"`
	// From and To are the lowest and the highest rate, in operations per second, and Probes the
	// most trials that it may take.
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Probes int   `json:"probes"`
}

// FilesName is the name that the workload's files have.
func (w Workload) FilesName() string { return cmp.Or(w.Files, w.Name) }

// Sweep is a workload of the spec that is measured at several points.
type Sweep struct {
	// Workload in the spec.
	Workload string `json:"workload"`
	// Variant that all points are measured with, if the spec has variants.
	Variant string `json:"variant,omitempty"`
	// Parameters that differ from point to point.
	Parameters []string     `json:"parameters"`
	Points     []SweepPoint `json:"points"`
}

// SweepPoint is a cell of the plan with the values of the sweep's parameters.
type SweepPoint struct {
	Cell
	Values []string `json:"values"`
}

// Variant is a set of tunables that is in effect while its trials run.
type Variant struct {
	Name           string    `json:"name"`
	Tunables       []Tunable `json:"tunables,omitempty"`
	AcceptDataLoss bool      `json:"acceptDataLoss,omitempty"`
}

// Compare says what is compared with each other, and how it is decided.
type Compare struct {
	// By is "variant" or "target"; the first is the control.
	By string `json:"by"`
	// Workload and Metric decide. Without a metric, the first headline of each workload does;
	// without a workload, every one that has the metric.
	Workload string `json:"workload,omitempty"`
	Metric   string `json:"metric,omitempty"`
	// MinEffect is the smallest difference that matters: 0.05 is 5 %.
	MinEffect float64 `json:"minEffect"`
}

// Gate is a limit for a metric.
type Gate struct {
	Workload string `json:"workload"`
	// Target, Variant and Part that it is for; empty: all. An empty Part is the whole or, if that
	// has no such metric, every part that does.
	Target  string `json:"target,omitempty"`
	Variant string `json:"variant,omitempty"`
	Part    string `json:"part,omitempty"`
	Metric  string `json:"metric"`
	// Limit in the metric's unit: seconds, bytes, bytes per second, or a number.
	Limit float64 `json:"limit"`
	// AtMost reports that the limit is the highest value that is good enough; else the lowest.
	AtMost bool `json:"atMost,omitempty"`
	// Text is the limit as the spec has it.
	Text string `json:"text"`
}

// Everything is the pattern that matches every device and dataset. In other patterns
// a * does not match a slash.
const Everything = "**"

// Tunable is a setting of the storage and the value to set.
type Tunable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Devices and Datasets are patterns of where it may be set.
	Devices  []string `json:"devices,omitempty"`
	Datasets []string `json:"datasets,omitempty"`
}

// Trial is one execution of one workload. ID is unique within a worker and is
// the name of the trial's object.
type Trial struct {
	ID       string `json:"id"`
	Workload string `json:"workload"`
	// Variant is empty in a plan without variants.
	Variant string `json:"variant,omitempty"`
	// Repeat counts from 1.
	Repeat int `json:"repeat"`
	// Block counts the blocks of a workload from 1: trials of what is compared, in a random
	// order. Interleaved, it has two repeats, the second in the reverse order of the first, and
	// the last block has one if the number of repeats is odd; Random, it has one. What is
	// compared differs once a block. 0: there is nothing to compare, or the order is not random.
	Block int `json:"block,omitempty"`
	// Rate that a probe offers, in operations per second; 0 in plans, and in trials that are no probes.
	Rate int64 `json:"rate,omitempty"`
}

// Planned is the trial as the plan has it: the rate of a probe is chosen when it runs.
func (t Trial) Planned() Trial {
	t.Rate = 0
	return t
}

// Worker is one (target, node) of a run, or one volume of it.
type Worker struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	Node   string `json:"node"`
	// Volume counts the volumes of a target on a node from 1, each provisioned anew, or the rounds
	// in which a target that is not provisioned is measured. 0: there is only one.
	Volume int `json:"volume,omitempty"`
}

// AppliesTo reports whether the gate is for a cell of a target.
func (g Gate) AppliesTo(target string, cell Cell) bool {
	return (g.Target == "" || g.Target == target) && g.Workload == cell.Workload && (g.Variant == "" || g.Variant == cell.Variant)
}

// ComparesTargets reports whether the plan compares its targets with each other.
func (p *Plan) ComparesTargets() bool { return p.Compare != nil && p.Compare.By == "target" }

// Target returns the target of that name, and an empty one if there is none.
func (p *Plan) Target(name string) Target {
	for _, t := range p.Targets {
		if t.Name == name {
			return t
		}
	}
	return Target{}
}

// Worker returns the worker of that name and its target.
func (p *Plan) Worker(name string) (Worker, Target, error) {
	for _, w := range p.Workers {
		if w.Name != name {
			continue
		}
		for _, t := range p.Targets {
			if t.Name == w.Target {
				return w, t, nil
			}
		}
		return w, Target{}, fmt.Errorf("plan: target %s of worker %s is not in the plan", w.Target, name)
	}
	return Worker{}, Target{}, fmt.Errorf("plan: worker %q is not in the plan", name)
}

// Stop is the rule by which a worker runs fewer trials than the plan has. It depends on nothing but
// the trials that are stored and the worker's share of the budget, so that whoever knows those knows
// which are left.
type Stop struct {
	// Min is the number of repeats that each workload has in any case, and Max the number that
	// the plan has trials for.
	Min int `json:"min"`
	Max int `json:"max"`
	// HalfWidth is the half-width of an interval, as a share of the median, at which it is narrow
	// enough: 0.05 is ±5 %.
	HalfWidth float64 `json:"halfWidth"`
	// Gates says how gates end a workload. Empty: they do not.
	Gates GateStop `json:"gates,omitempty"`
	// BudgetSeconds is the run's budget for the time of trials, divided by the number of workers: what
	// the first worker may spend. Those after it may spend what the earlier ones left, too; 0: no
	// limit.
	BudgetSeconds float64 `json:"budgetSeconds,omitempty"`
}

// HasBudget reports whether the time of the run's trials is limited.
func (p *Plan) HasBudget() bool { return p.Stop != nil && p.Stop.BudgetSeconds > 0 }

// GateStop says how gates end a workload.
type GateStop string

// Ways in which gates end a workload.
const (
	// GatesAlone: a workload with gates ends when all of them are decided, or those that are not
	// cannot be any more, however narrow its intervals are.
	GatesAlone GateStop = "Alone"
	// GatesOrWidth: it also ends when its intervals are narrow enough.
	GatesOrWidth GateStop = "OrWidth"
)

// Workload returns the workload of that name.
func (p *Plan) Workload(name string) (Workload, bool) {
	for _, w := range p.Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// SetsTunables reports whether a variant changes settings of the storage, which needs
// a privileged worker.
func (p *Plan) SetsTunables() bool {
	return slices.ContainsFunc(p.Variants, func(v Variant) bool { return len(v.Tunables) > 0 })
}

// Variant returns the variant of that name. The empty name stands for the storage
// as it is.
func (p *Plan) Variant(name string) (Variant, bool) {
	if name == "" {
		return Variant{}, true
	}
	for _, v := range p.Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}

// Cells returns each workload with each variant, in the plan's order.
func (p *Plan) Cells() []Cell {
	var cells []Cell
	for _, w := range p.Workloads {
		if len(p.Variants) == 0 {
			cells = append(cells, Cell{Workload: w.Name})
		}
		for _, v := range p.Variants {
			cells = append(cells, Cell{Workload: w.Name, Variant: v.Name})
		}
	}
	return cells
}

// Cell is one workload with one variant.
type Cell struct {
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
}

// Cell returns the cell that the trial is a repeat of.
func (t Trial) Cell() Cell { return Cell{Workload: t.Workload, Variant: t.Variant} }

// Encode returns the plan's document and its digest, "sha256:…". The digest goes
// into the Job's arguments, which nobody can edit, so that a privileged worker
// never executes a plan that somebody put in place of its own.
func (p *Plan) Encode() (document []byte, digest string, err error) {
	document, err = json.MarshalIndent(p, "", " ")
	if err != nil {
		return nil, "", fmt.Errorf("plan: %w", err)
	}
	return document, Digest(document), nil
}

// DecodePlan reads a plan document and, if digest is not empty, checks its digest.
func DecodePlan(document []byte, digest string) (*Plan, error) {
	if got := Digest(document); digest != "" && got != digest {
		return nil, &Failure{
			Class:   reason.PlanTampered,
			Message: fmt.Sprintf("the plan has digest %s, but the Job expects %s: somebody changed the ConfigMap", got, digest),
			Remedy:  "find out who can write ConfigMaps in this namespace, then change spec.runID to run again",
		}
	}
	p := &Plan{}
	if err := json.Unmarshal(document, p); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if p.Schema != PlanSchema {
		return nil, fmt.Errorf("plan: its schema is %q, expected %q", p.Schema, PlanSchema)
	}
	return p, nil
}

// Chain returns the digest of one more document, that of the worker at a position in the plan, after those before it.
func Chain(before string, position int, digest string) string {
	return Digest(fmt.Appendf(nil, "%s %d %s\n", before, position, digest))
}

// Digest returns "sha256:" and the hexadecimal SHA-256 of document.
func Digest(document []byte) string {
	sum := sha256.Sum256(document)
	return "sha256:" + hex.EncodeToString(sum[:])
}

package jobspec

import (
	"fmt"
	"math"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/internal/trial"
)

const (
	// user is the user and group of an unprivileged worker, as in the image.
	nonRoot = int64(65532)
	// diskGroup owns block devices on Debian, Ubuntu, Fedora and RHEL. It lets an
	// unprivileged worker open the device of a Block volume if the runtime does
	// not give devices to the Pod's user.
	diskGroup = int64(6)

	targetDir    = "/target"
	targetDevice = "/target-device"
	planDir      = "/etc/storagebench/plan"
	planFile     = "plan.json"
	grantDir     = "/etc/storagebench/grant"
	grantFile    = "grant.json"
	workDir      = "/work"

	// JournalDir is where a node keeps the journal of changed settings, and the records of
	// who has claimed its devices.
	JournalDir = "/var/lib/storagebench/journal"

	// deadlineGrace is how much later than the worker's own timeout the Job's
	// deadline is, so that the worker can end by itself and store its results.
	deadlineGrace = 2 * time.Minute

	// TerminationGrace is how long a Pod may take to end before it is killed. It is more than
	// a worker takes to stop its engine, restore the node, and upload what it has.
	TerminationGrace = time.Minute
)

// Settings are the operator's settings, the same for all workers.
type Settings struct {
	Image            string
	ImagePullPolicy  corev1.PullPolicy
	ImagePullSecrets []string
	// MemoryLimit and EphemeralStorageLimit of a worker; zero: DefaultMemoryLimit and
	// DefaultEphemeralStorageLimit. A Pod cannot limit the number of its processes; only
	// the kubelet can (podPidsLimit).
	MemoryLimit           resource.Quantity
	EphemeralStorageLimit resource.Quantity
	// HostPaths are the directories of nodes that may be targets, with
	// everything below them.
	HostPaths []string
}

// Defaults of Settings.
const (
	DefaultMemoryLimit           = "2Gi"
	DefaultEphemeralStorageLimit = "2Gi"
)

// limits returns the limits of a worker's container whose tools need some memory more than usual.
func (s Settings) limits(extra uint64) corev1.ResourceList {
	memory, storage := s.MemoryLimit, s.EphemeralStorageLimit
	if memory.IsZero() {
		memory = resource.MustParse(DefaultMemoryLimit)
	}
	if storage.IsZero() {
		storage = resource.MustParse(DefaultEphemeralStorageLimit)
	}
	return corev1.ResourceList{corev1.ResourceMemory: plus(memory, extra), corev1.ResourceEphemeralStorage: storage}
}

// plus adds bytes to a quantity.
func plus(q resource.Quantity, bytes uint64) resource.Quantity {
	if bytes > 0 {
		q.Add(*resource.NewQuantity(int64(min(bytes, math.MaxInt64)), resource.BinarySI)) //nolint:gosec // bounded
	}
	return q
}

// Input is everything that a worker's objects depend on.
type Input struct {
	Settings Settings
	Plan     *trial.Plan
	Worker   trial.Worker
	// Target of the worker.
	Target trial.Target
	// GrantDigest is the digest of the document in the worker's Secret. The operator
	// therefore signs the grant before it creates the Job.
	GrantDigest string
	// Owner is the benchmark's owner reference.
	Owner metav1.OwnerReference
	// Tolerations of the Pod.
	Tolerations []corev1.Toleration
	// Timeout is what is left of the run's timeout.
	Timeout time.Duration
	// Share of the run's budget that the worker's trials may take; nil: the plan has no budget.
	Share *time.Duration
}

// Job builds the worker's Job, suspended.
func Job(in Input) (*batchv1.Job, error) {
	_, digest, err := in.Plan.Encode()
	if err != nil {
		return nil, err
	}
	if in.GrantDigest == "" {
		return nil, fmt.Errorf("jobspec: worker %s: the digest of its grant is missing", in.Worker.Name)
	}
	labels := Labels(in.Plan, in.Worker)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Name(in.Plan, in.Worker),
			Namespace:       in.Plan.Benchmark.Namespace,
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{in.Owner},
		},
		Spec: batchv1.JobSpec{
			Suspend:     new(true),
			Completions: new(int32(1)),
			Parallelism: new(int32(1)),
			// A Pod that was killed is replaced, and its successor resumes after
			// the last stored trial. A Pod that ended by itself is not replaced.
			BackoffLimit: new(int32(6)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{
					Action: batchv1.PodFailurePolicyActionFailJob,
					OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
						ContainerName: new("worker"),
						Operator:      batchv1.PodFailurePolicyOnExitCodesOpIn,
						Values:        []int32{trial.ExitFailed},
					},
				},
				{
					Action: batchv1.PodFailurePolicyActionIgnore,
					OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
						{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
					},
				},
			}},
			// Two Pods must never measure at the same time.
			PodReplacementPolicy:  new(batchv1.Failed),
			ActiveDeadlineSeconds: new(int64((in.Timeout + deadlineGrace).Seconds())),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: labels,
					Annotations: map[string]string{
						"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
						"karpenter.sh/do-not-disrupt":                    "true",
					},
				},
				Spec: podSpec(in, digest),
			},
		},
	}, nil
}

func podSpec(in Input, digest string) corev1.PodSpec {
	path := targetDir
	if in.Target.Mode == trial.Block {
		path = targetDevice
	}
	name := Name(in.Plan, in.Worker)
	container := corev1.Container{
		Name:            "worker",
		Image:           in.Settings.Image,
		ImagePullPolicy: in.Settings.ImagePullPolicy,
		Command:         []string{"/usr/local/bin/storagebench"},
		Args:            arguments(in, digest, path),
		SecurityContext: containerSecurity(in.Plan, in.Target.Source),
		Resources: corev1.ResourceRequirements{
			// Without requests, they would default to the limits. What is certain to be
			// allocated is requested, so that the node has it.
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:              resource.MustParse("100m"),
				corev1.ResourceMemory:           plus(resource.MustParse("64Mi"), in.Plan.ExtraMemory),
				corev1.ResourceEphemeralStorage: resource.MustParse("64Mi"),
			},
			Limits: in.Settings.limits(in.Plan.ExtraMemory),
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "plan", MountPath: planDir, ReadOnly: true},
			{Name: "grant", MountPath: grantDir, ReadOnly: true},
			{Name: "work", MountPath: workDir},
		},
	}
	if in.Target.Mode == trial.Block && in.Target.Source != trial.BlockDevice {
		container.VolumeDevices = []corev1.VolumeDevice{{Name: "target", DevicePath: path}}
	} else {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "target", MountPath: path})
	}
	if needsJournal(in) {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "journal", MountPath: JournalDir})
	}
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(int64(TerminationGrace.Seconds())),
		Tolerations:                   in.Tolerations,
		Affinity:                      onNode(in.Worker.Node),
		SecurityContext:               podSecurity(in.Plan, in.Target),
		HostPID:                       needsHostPrograms(in.Plan),
		Containers:                    []corev1.Container{container},
		Volumes: []corev1.Volume{
			{Name: "plan", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
			{Name: "grant", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: grantMode(in)}}},
			{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(in.Settings.limits(0)[corev1.ResourceEphemeralStorage])}}},
			{Name: "target", VolumeSource: targetVolume(in)},
		},
	}
	if needsJournal(in) {
		spec.Volumes = append(spec.Volumes, journalVolume())
	}
	spec.ImagePullSecrets = pullSecrets(in.Settings)
	return spec
}

// grantMode lets the runner read the grant, and no engine that has another user: those of a
// runner that is root and privileged. On a hostPath without tunables the runner is root
// without privileges, and its engines, which are root too, can read the grant.
func grantMode(in Input) *int32 {
	if NeedsHost(in.Target.Source) || in.Plan.SetsTunables() {
		return new(int32(0o400))
	}
	return new(int32(0o444))
}

// needsJournal reports whether the worker writes into the node's journal, or beside it that
// it has claimed a device.
func needsJournal(in Input) bool {
	return in.Plan.SetsTunables() || in.Target.Source == trial.BlockDevice
}

func journalVolume() corev1.Volume {
	return corev1.Volume{Name: "journal", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: JournalDir, Type: new(corev1.HostPathDirectoryOrCreate),
	}}}
}

func pullSecrets(s Settings) (references []corev1.LocalObjectReference) {
	for _, secret := range s.ImagePullSecrets {
		references = append(references, corev1.LocalObjectReference{Name: secret})
	}
	return references
}

func targetVolume(in Input) corev1.VolumeSource {
	switch in.Target.Source {
	case trial.HostPath:
		root, _ := in.Settings.hostRoot(in.Target.Ref)
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: root, Type: new(corev1.HostPathDirectory)}}
	case trial.BlockDevice:
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: in.Target.Ref, Type: new(corev1.HostPathBlockDev)}}
	case trial.PersistentVolumeClaim:
		return claimVolume(in.Target.Ref)
	default:
		return claimVolume(Name(in.Plan, in.Worker))
	}
}

// targetPath returns the target's path in the container, where the volume is mounted.
func targetPath(in Input, mounted string) string {
	if in.Target.Source == trial.HostPath {
		if _, below := in.Settings.hostRoot(in.Target.Ref); below != "" {
			return mounted + "/" + below
		}
	}
	return mounted
}

// hostRoot splits the path of a target into the directory that the operator allows and the
// rest below it. The kubelet follows, as root, every symbolic link on the way to what it
// mounts, and a tenant may have put one below the allowed directory. So the Pod mounts the
// allowed directory, which is not the tenant's, and the worker follows the rest inside the
// container, through no link.
func (s Settings) hostRoot(target string) (root, below string) {
	for _, allowed := range s.HostPaths {
		allowed = strings.TrimSuffix(allowed, "/")
		rest, ok := strings.CutPrefix(target+"/", allowed+"/")
		if ok && allowed != "" && len(allowed) > len(root) {
			root, below = allowed, strings.TrimSuffix(rest, "/")
		}
	}
	if root == "" {
		return target, ""
	}
	return root, below
}

func claimVolume(claim string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
}

// onNode makes the scheduler choose the node by name. spec.nodeName would bypass the
// scheduler, and a volume that waits for its first consumer would never be bound.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}

func podSecurity(p *trial.Plan, target trial.Target) *corev1.PodSecurityContext {
	seccomp := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if NeedsHost(target.Source) || p.SetsTunables() {
		return &corev1.PodSecurityContext{RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), SeccompProfile: seccomp}
	}
	security := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		RunAsUser:      new(nonRoot),
		RunAsGroup:     new(nonRoot),
		SeccompProfile: seccomp,
	}
	if target.RunAsUser != nil {
		security.RunAsUser = target.RunAsUser
	}
	switch {
	case target.FSGroup != nil:
		security.FSGroup = target.FSGroup
	case target.Source == trial.StorageClass:
		security.FSGroup = new(nonRoot)
	}
	// An fsGroup changes group and mode of every file on a volume, so an existing claim
	// gets one only if its user chose it.
	if security.FSGroup != nil {
		security.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	}
	if target.Mode == trial.Block {
		security.SupplementalGroups = []int64{diskGroup}
	}
	return security
}

func containerSecurity(p *trial.Plan, source trial.Source) *corev1.SecurityContext {
	if source == trial.BlockDevice || p.SetsTunables() {
		// Only a privileged container may open a device that is not a volume, or
		// write to sysfs.
		return &corev1.SecurityContext{Privileged: new(true), ReadOnlyRootFilesystem: new(true)}
	}
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// needsHostPrograms reports whether the worker runs programs of the host in the host's
// mount namespace, for which it needs the host's process IDs: hdparm, nvme, and zfs and
// zpool, which must match the kernel's module. A setting of disks needs zpool too, because
// the target may be on ZFS. Sysctls and module parameters are files and need no program.
func needsHostPrograms(p *trial.Plan) bool {
	for _, v := range p.Variants {
		for _, t := range v.Tunables {
			if !strings.HasPrefix(t.Name, "vm.") && !strings.HasPrefix(t.Name, "zfs.module.") {
				return true
			}
		}
	}
	return false
}

// NeedsHost reports whether a target is a path of the node. Its Pod needs more
// than the restricted Pod Security level allows.
func NeedsHost(source trial.Source) bool {
	return source == trial.HostPath || source == trial.BlockDevice
}

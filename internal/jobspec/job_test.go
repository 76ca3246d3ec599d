package jobspec

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"storagebench.io/storagebench/internal/trial"
)

func input(target trial.Target) Input {
	target.Name = "fast"
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	return Input{
		Settings: Settings{Image: "storagebench:1", ImagePullPolicy: corev1.PullIfNotPresent},
		Plan: &trial.Plan{
			Benchmark: trial.Benchmark{Namespace: "lab", Name: strings.Repeat("b", 52), UID: "u-1"},
			Run:       "g1-x", Targets: []trial.Target{target}, Workers: []trial.Worker{worker},
		},
		Worker: worker, Target: target, GrantDigest: "sha256:aa",
		Owner:   metav1.OwnerReference{APIVersion: "storagebench.io/v1alpha1", Kind: "StorageBenchmark", Name: "b", UID: "u-1"},
		Timeout: time.Hour,
	}
}

func job(t *testing.T, target trial.Target) *batchv1.Job {
	t.Helper()
	j, err := Job(input(target))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// level is the strictest Pod Security level that lets the Pod pass.
func level(t *testing.T, j *batchv1.Job) podsecurity.Level {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []podsecurity.Level{podsecurity.LevelRestricted, podsecurity.LevelBaseline} {
		results := evaluator.EvaluatePod(podsecurity.LevelVersion{Level: l, Version: podsecurity.LatestVersion()}, &j.Spec.Template.ObjectMeta, &j.Spec.Template.Spec)
		if policy.AggregateCheckResults(results).Allowed {
			return l
		}
	}
	return podsecurity.LevelPrivileged
}

func TestOnlyAPathOfTheNodeNeedsMoreThanRestricted(t *testing.T) {
	for _, c := range []struct {
		target trial.Target
		want   podsecurity.Level
	}{
		{trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem}, podsecurity.LevelRestricted},
		{trial.Target{Source: trial.StorageClass, Mode: trial.Block}, podsecurity.LevelRestricted},
		{trial.Target{Source: trial.PersistentVolumeClaim, Mode: trial.Filesystem, Ref: "db"}, podsecurity.LevelRestricted},
		{trial.Target{Source: trial.PersistentVolumeClaim, Mode: trial.Block, Ref: "db"}, podsecurity.LevelRestricted},
		{trial.Target{Source: trial.HostPath, Mode: trial.Filesystem, Ref: "/tank"}, podsecurity.LevelPrivileged},
		{trial.Target{Source: trial.BlockDevice, Mode: trial.Block, Ref: "/dev/loop7"}, podsecurity.LevelPrivileged},
	} {
		if got := level(t, job(t, c.target)); got != c.want {
			t.Errorf("%s %s passes %s, want %s", c.target.Source, c.target.Mode, got, c.want)
		}
	}
}

func TestOnlyADevicePathGetsAPrivilegedContainer(t *testing.T) {
	for _, source := range []trial.Source{trial.StorageClass, trial.PersistentVolumeClaim, trial.HostPath, trial.BlockDevice} {
		c := job(t, trial.Target{Source: source, Ref: "/x", Mode: trial.Filesystem}).Spec.Template.Spec.Containers[0]
		privileged := c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if privileged != (source == trial.BlockDevice) {
			t.Errorf("%s: privileged is %v", source, privileged)
		}
		if !privileged && (len(c.SecurityContext.Capabilities.Add) > 0 || c.SecurityContext.Capabilities.Drop[0] != "ALL") {
			t.Errorf("%s has capabilities: %+v", source, c.SecurityContext.Capabilities)
		}
	}
}

func TestThePodHasNoTokenNoSecretInItsSpecAndNoShell(t *testing.T) {
	j := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
	spec := j.Spec.Template.Spec
	if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks || spec.HostNetwork || spec.HostPID || spec.HostIPC {
		t.Error("the Pod gets what it does not need")
	}
	c := spec.Containers[0]
	if len(c.Env)+len(c.EnvFrom) > 0 || len(c.Command) != 1 || c.Command[0] != "/usr/local/bin/storagebench" || c.Args[0] != "worker" {
		t.Errorf("command %v %v, environment %v", c.Command, c.Args, c.Env)
	}
}

// A plan in a ConfigMap can be replaced by whoever may write ConfigMaps in the
// namespace; the arguments of a Job cannot be changed.
func TestTheJobIsTiedToItsPlan(t *testing.T) {
	in := input(trial.Target{Source: trial.BlockDevice, Mode: trial.Block, Ref: "/dev/loop7"})
	digest := func() string {
		j, err := Job(in)
		if err != nil {
			t.Fatal(err)
		}
		args := j.Spec.Template.Spec.Containers[0].Args
		for i, a := range args {
			if a == "--plan-digest" {
				return args[i+1]
			}
		}
		t.Fatal("the plan's digest is not among the arguments")
		return ""
	}
	was := digest()
	in.Plan.Targets[0].Ref = "/dev/sda"
	if is := digest(); is == was {
		t.Error("another plan has the same digest")
	}
}

// The share of the budget is among the arguments, too, and the operator reads it there.
func TestTheJobHasTheWorkersShareOfTheBudget(t *testing.T) {
	in := input(trial.Target{Source: trial.BlockDevice, Mode: trial.Block, Ref: "/dev/loop7"})
	for _, want := range []*time.Duration{nil, new(time.Duration(0)), new(171_429 * time.Millisecond), new(5 * time.Hour)} {
		in.Share = want
		j, err := Job(in)
		if err != nil {
			t.Fatal(err)
		}
		args := j.Spec.Template.Spec.Containers[0].Args
		if slices.Contains(args, "--budget-share") != (want != nil) || !slices.Contains(args, "--journal") {
			t.Errorf("with a share of %v the arguments are %q", want, args)
		}
		got := Share(j)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("of %v it reads %v", want, got)
		}
	}
	j := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
	for name, args := range map[string][]string{"without a value": {"worker", "--budget-share"}, "no duration": {"worker", "--budget-share", "much"}, "none": nil} {
		j.Spec.Template.Spec.Containers[0].Args = args
		if got := Share(j); got != nil {
			t.Errorf("%s: it reads %s", name, got)
		}
	}
}

func TestTheSchedulerPlacesThePodSoThatVolumesCanWaitForIt(t *testing.T) {
	spec := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem}).Spec.Template.Spec
	if spec.NodeName != "" {
		t.Error("spec.nodeName passes the scheduler by")
	}
	term := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	if f := term.MatchFields[0]; f.Key != "metadata.name" || f.Values[0] != "a" {
		t.Errorf("affinity: %+v", f)
	}
}

func TestVolumesAndDevices(t *testing.T) {
	block := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Block}).Spec.Template.Spec
	if d := block.Containers[0].VolumeDevices; len(d) != 1 || d[0].DevicePath != targetDevice {
		t.Errorf("a Block volume is given as %+v", d)
	}
	existing := job(t, trial.Target{Source: trial.PersistentVolumeClaim, Mode: trial.Filesystem, Ref: "db-0"}).Spec.Template.Spec
	if v := existing.Volumes[3].PersistentVolumeClaim; v == nil || v.ClaimName != "db-0" {
		t.Errorf("an existing claim is given as %+v", v)
	}
	host := job(t, trial.Target{Source: trial.HostPath, Mode: trial.Filesystem, Ref: "/tank"}).Spec.Template.Spec
	for _, c := range []struct{ target, mounted, path string }{
		{"/tank/bench", "/tank/bench", targetDir},
		{"/tank/bench/a/b", "/tank/bench", targetDir + "/a/b"},
		{"/tank/bench/deep/a", "/tank/bench/deep", targetDir + "/a"},
		{"/tank/benches", "/tank/benches", targetDir},
	} {
		in := Input{Settings: Settings{HostPaths: []string{"/tank/bench/", "/tank/bench/deep"}}, Target: trial.Target{Source: trial.HostPath, Ref: c.target}}
		if v, path := targetVolume(in), targetPath(in, targetDir); v.HostPath.Path != c.mounted || path != c.path {
			t.Errorf("%s: %s is mounted and %s measured", c.target, v.HostPath.Path, path)
		}
	}
	if v := host.Volumes[3].HostPath; v == nil || *v.Type != corev1.HostPathDirectory {
		t.Errorf("a host path must exist, and not be made: %+v", v)
	}
}

func TestEverythingOfAWorkerIsOwnedByItsJob(t *testing.T) {
	j := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
	j.UID = "job-1"
	secret, err := GrantSecret(j, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	claim := Claim(j, "fast", resource.MustParse("1Gi"), corev1.ReadWriteOnce, corev1.PersistentVolumeFilesystem)
	for _, object := range []metav1.Object{secret, PlanConfigMap(j, []byte("{}")), claim} {
		if !metav1.IsControlledBy(object, j) || object.GetName() != j.Name || len(object.GetName()) > 63 {
			t.Errorf("%T: %s, owners %+v", object, object.GetName(), object.GetOwnerReferences())
		}
	}
	if !*secret.Immutable {
		t.Error("the grant can be changed")
	}
	if _, err := GrantSecret(j, make([]byte, corev1.MaxSecretSize+1)); err == nil {
		t.Error("a grant that no Secret holds was accepted")
	}
}

func TestAPodThatWasKilledIsReplacedAndOneThatFailedIsNot(t *testing.T) {
	j := job(t, trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
	codes := j.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values
	if len(codes) != 1 || codes[0] != trial.ExitFailed || *j.Spec.BackoffLimit == 0 || !*j.Spec.Suspend {
		t.Errorf("job: %+v", j.Spec)
	}
	if *j.Spec.ActiveDeadlineSeconds <= 3600 {
		t.Error("the Job would be ended before the worker has stored what it has")
	}
}

func TestARestoreIsToldWhatMayStandInTheJournal(t *testing.T) {
	job, err := RestoreJob(Restore{
		Settings:  Settings{Image: "storagebench:1", ImagePullSecrets: []string{"registry"}},
		Namespace: "restore", Node: "node-a", Record: "uid-1",
		Permit: []trial.Tunable{{Name: "block.queue.nomerges", Devices: []string{"loop*"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := job.Spec.Template.Spec
	if job.Namespace != "restore" || job.Labels[LabelRecord] != "uid-1" || spec.Affinity == nil {
		t.Errorf("it is %+v", job.ObjectMeta)
	}
	names := map[string]bool{job.Name: true, RestoreName("uid-1", 1): true, RestoreName("uid-2", 0): true}
	if len(names) != 3 || len(job.Name) > 63 {
		t.Errorf("Jobs of different records and attempts share a name: %v", names)
	}
	want := []string{"restore", "--journal", JournalDir, "--host-programs", "--permit", `[{"name":"block.queue.nomerges","value":"","devices":["loop*"]}]`}
	if c := spec.Containers[0]; !slices.Equal(c.Args, want) || !*c.SecurityContext.Privileged || len(c.Env) != 0 || len(spec.Volumes) != 1 {
		t.Errorf("the container is %+v", c)
	}
	if !spec.HostPID || *spec.AutomountServiceAccountToken || spec.Affinity == nil || spec.Tolerations[0].Operator != corev1.TolerationOpExists {
		t.Errorf("the Pod is %+v", spec)
	}
}

func TestOnlyAPlanWithTunablesGetsPrivilegesAndTheJournal(t *testing.T) {
	for _, tunables := range []bool{false, true} {
		in := input(trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
		if tunables {
			in.Plan.Variants = []trial.Variant{{Name: "v", Tunables: []trial.Tunable{{Name: "block.queue.scheduler", Value: "none"}}}}
		}
		job, err := Job(in)
		if err != nil {
			t.Fatal(err)
		}
		spec := job.Spec.Template.Spec
		privileged := spec.Containers[0].SecurityContext.Privileged
		if got := privileged != nil && *privileged; got != tunables || spec.HostPID != tunables || slices.Contains(spec.Containers[0].Args, "--journal") != tunables {
			t.Errorf("tunables %v: privileged %v, hostPID %v, %v", tunables, got, spec.HostPID, spec.Containers[0].Args)
		}
	}
}

// There the worker records that it has claimed the device: what the store says of that,
// tenants can write.
func TestAWorkerOnADeviceOfTheNodeGetsTheJournalsDirectory(t *testing.T) {
	for source, want := range map[trial.Source]bool{trial.BlockDevice: true, trial.PersistentVolumeClaim: false} {
		spec := job(t, trial.Target{Source: source, Ref: "/dev/loop0", Mode: trial.Block}).Spec.Template.Spec
		mounted := slices.ContainsFunc(spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == JournalDir })
		if told := slices.Contains(spec.Containers[0].Args, "--journal"); told != want || mounted != want {
			t.Errorf("%s: told %t, mounted %t", source, told, mounted)
		}
	}
}

func TestTheArgumentsCarryTheGrantsDigest(t *testing.T) {
	args := job(t, trial.Target{Source: trial.StorageClass}).Spec.Template.Spec.Containers[0].Args
	at := slices.Index(args, "--grant-digest")
	if at < 0 || at+1 == len(args) || args[at+1] != "sha256:aa" {
		t.Errorf("arguments: %q", args)
	}
	in := input(trial.Target{Source: trial.StorageClass})
	in.GrantDigest = ""
	if _, err := Job(in); err == nil {
		t.Error("a Job without the digest of its grant was built")
	}
}

func TestNothingOnAnExistingClaimIsChanged(t *testing.T) {
	for name, c := range map[string]struct {
		target     trial.Target
		user       int64
		group      *int64
		wantPolicy bool
	}{
		"a generated volume":           {trial.Target{Source: trial.StorageClass}, nonRoot, new(nonRoot), true},
		"an existing claim":            {trial.Target{Source: trial.PersistentVolumeClaim, Ref: "db"}, nonRoot, nil, false},
		"an existing claim, its user":  {trial.Target{Source: trial.PersistentVolumeClaim, Ref: "db", RunAsUser: new(int64(999))}, 999, nil, false},
		"an existing claim, its group": {trial.Target{Source: trial.PersistentVolumeClaim, Ref: "db", FSGroup: new(int64(998))}, nonRoot, new(int64(998)), true},
	} {
		c.target.Mode = trial.Filesystem
		j := job(t, c.target)
		spec := j.Spec.Template.Spec
		s := spec.SecurityContext
		if *s.RunAsUser != c.user || (s.FSGroup == nil) != (c.group == nil) || s.FSGroup != nil && *s.FSGroup != *c.group || (s.FSGroupChangePolicy != nil) != c.wantPolicy {
			t.Errorf("%s: %+v", name, s)
		}
		// Without an fsGroup, the grant belongs to root.
		if *spec.Volumes[1].Secret.DefaultMode&0o004 == 0 {
			t.Errorf("%s: the worker cannot read its grant", name)
		}
		if level(t, j) != podsecurity.LevelRestricted {
			t.Errorf("%s needs more than restricted", name)
		}
	}
}

// Engines beside a runner that is root are not root, and the grant is not for them.
func TestOnlyRootReadsTheGrantOfARunnerThatIsRoot(t *testing.T) {
	j := job(t, trial.Target{Source: trial.BlockDevice, Ref: "/dev/loop0", Mode: trial.Block})
	if mode := *j.Spec.Template.Spec.Volumes[1].Secret.DefaultMode; mode != 0o400 {
		t.Errorf("its mode is %#o", mode)
	}
}

func TestAWorkerIsLimited(t *testing.T) {
	for name, want := range map[string]string{"the default": "2Gi", "the operator's": "512Mi"} {
		in := input(trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
		if name != "the default" {
			in.Settings.MemoryLimit, in.Settings.EphemeralStorageLimit = resource.MustParse(want), resource.MustParse(want)
		}
		j, err := Job(in)
		if err != nil {
			t.Fatal(err)
		}
		spec := j.Spec.Template.Spec
		limits := spec.Containers[0].Resources.Limits
		for _, got := range []string{limits.Memory().String(), limits.StorageEphemeral().String(), spec.Volumes[2].EmptyDir.SizeLimit.String()} {
			if got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if r := spec.Containers[0].Resources.Requests; r.StorageEphemeral().String() == want || r.Memory().String() == want {
			t.Errorf("%s: the worker requests its limit: %v", name, r)
		}
	}
}

// What tools need beyond the usual is added to the limit, and requested, so that the node has it.
func TestMemoryOfToolsIsAddedToLimitAndRequest(t *testing.T) {
	in := input(trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
	in.Plan.ExtraMemory = 3 << 30
	j, err := Job(in)
	if err != nil {
		t.Fatal(err)
	}
	r := j.Spec.Template.Spec.Containers[0].Resources
	if got := r.Limits.Memory().String(); got != "5Gi" {
		t.Errorf("the limit is %s", got)
	}
	if got := r.Requests.Memory().String(); got != "3136Mi" {
		t.Errorf("the request is %s", got)
	}
}

func TestTheHostsProcessesAreSeenOnlyForItsPrograms(t *testing.T) {
	for name, want := range map[string]bool{
		"vm.dirty_ratio": false, "zfs.module.zfs_arc_max": false, "zfs.dataset.sync": true, "ata.write_cache": true, "block.queue.scheduler": true,
	} {
		in := input(trial.Target{Source: trial.StorageClass, Mode: trial.Filesystem})
		in.Plan.Variants = []trial.Variant{{Name: "v", Tunables: []trial.Tunable{{Name: name, Value: "1"}}}}
		j, err := Job(in)
		if err != nil || j.Spec.Template.Spec.HostPID != want {
			t.Errorf("%s: hostPID %v, %v", name, j.Spec.Template.Spec.HostPID, err)
		}
	}
}

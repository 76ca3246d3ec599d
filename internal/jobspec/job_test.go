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
		Worker: worker, Target: target,
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
	if *existing.SecurityContext.FSGroupChangePolicy != corev1.FSGroupChangeOnRootMismatch {
		t.Error("every file of an existing claim would change its group")
	}
	host := job(t, trial.Target{Source: trial.HostPath, Mode: trial.Filesystem, Ref: "/tank"}).Spec.Template.Spec
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
	if len(codes) != 2 || codes[0] != 1 || codes[1] != 2 || *j.Spec.BackoffLimit == 0 || !*j.Spec.Suspend {
		t.Errorf("job: %+v", j.Spec)
	}
	if *j.Spec.ActiveDeadlineSeconds <= 3600 {
		t.Error("the Job would be ended before the worker has stored what it has")
	}
}

func TestARestoreIsToldOfNothingButTheJournal(t *testing.T) {
	settings := Settings{Image: "storagebench:1", ImagePullSecrets: []string{"registry"}}
	job := RestoreJob(settings, "storagebench-system", "node-a")
	spec := job.Spec.Template.Spec
	if job.Namespace != "storagebench-system" || job.Name != RestoreName("node-a") || RestoreName("node-a") == RestoreName("node-b") {
		t.Errorf("it is %s/%s", job.Namespace, job.Name)
	}
	want := []string{"restore", "--journal", JournalDir, "--host-programs"}
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

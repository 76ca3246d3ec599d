//go:build integration

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// Each kind of spec that cannot run gets a condition that names the field and the
// remedy, and nothing is created for it.
func TestWhatCannotRunSaysWhyAndMakesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spec       func(*v1alpha1.StorageBenchmarkSpec)
		privileged bool
		wantReason string
		want       []string
	}{
		"an unknown StorageClass": {
			spec:       func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = "nvme" },
			wantReason: reason.StorageClassNotFound,
			want:       []string{"spec.targets[t].storageClass.name", `"nvme"`, "kubectl get storageclasses"},
		},
		"a missing claim": {
			spec:       target(v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "db-0"}}),
			wantReason: reason.PersistentVolumeClaimNotFound,
			want:       []string{"spec.targets[t].persistentVolumeClaim.claimName", `"db-0"`, "create it"},
		},
		"no node with the labels": {
			spec:       func(s *v1alpha1.StorageBenchmarkSpec) { s.Placement.NodeSelector = map[string]string{"disk": "optane"} },
			wantReason: reason.NoMatchingNodes,
			want:       []string{"spec.placement.nodeSelector", "label a node"},
		},
		"too few nodes": {
			spec:       func(s *v1alpha1.StorageBenchmarkSpec) { s.Placement.Nodes = new(intstr.FromInt32(7)) },
			wantReason: reason.NoMatchingNodes,
			want:       []string{"spec.placement.nodes", "7 wanted, but of the 1 that match nodeSelector only 1 can be used", "ask for fewer"},
		},
		"an unknown result store": {
			spec:       func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = "attic" },
			wantReason: reason.ResultStoreNotFound,
			want:       []string{"spec.results.storeRef.name", `"attic"`, "kubectl get resultstores"},
		},
		"a job file with an error": {
			spec:       jobFile("[w]\nrw=randread\nblocksiez=4k\n"),
			wantReason: reason.InvalidJobFile,
			want:       []string{"spec.workloads[w].fio.jobFile", "blocksiez", "3"},
		},
		"a job file that runs a command": {
			spec:       jobFile("[w]\nrw=randread\nexec_prerun=id\n"),
			wantReason: reason.InvalidJobFile,
			want:       []string{"spec.workloads[w].fio.jobFile", "exec_prerun"},
		},
		"a job file that reads a file outside the target": {
			spec:       jobFile("[w]\nrw=read\nread_iolog=/etc/passwd\n"),
			wantReason: reason.InvalidJobFile,
			want:       []string{"spec.workloads[w].fio.jobFile", "read_iolog"},
		},
		"a parameter that fio would hand to a shell": {
			spec: func(s *v1alpha1.StorageBenchmarkSpec) {
				s.Workloads[0].Fio.Parameters["size"] = v1alpha1.Text("1$ncpus'; touch /tmp/owned; '")
			},
			wantReason: reason.InvalidJobFile,
			want:       []string{"spec.workloads[w].fio.parameters", "size"},
		},
		"a path of the node that the operator does not allow": {
			spec:       target(v1alpha1.Target{HostPath: &v1alpha1.HostPathTarget{Path: "/etc"}}),
			privileged: true,
			wantReason: reason.HostAccessNotAllowed,
			want:       []string{"spec.targets[t].hostPath.path", "/etc", "hostAccess.paths"},
		},
		"a path that only begins like an allowed one": {
			spec:       target(v1alpha1.Target{HostPath: &v1alpha1.HostPathTarget{Path: "/tankard"}}),
			privileged: true,
			wantReason: reason.HostAccessNotAllowed,
			want:       []string{"/tankard"},
		},
		"an allowed path in a namespace without consent": {
			spec:       target(v1alpha1.Target{HostPath: &v1alpha1.HostPathTarget{Path: "/tank/bench"}}),
			wantReason: reason.PodSecurityForbids,
			want:       []string{"spec.targets[t].hostPath", podSecurity + "=privileged"},
		},
		"a device that the operator does not allow": {
			spec:       target(v1alpha1.Target{BlockDevice: &v1alpha1.BlockDeviceTarget{Path: "/dev/sda", AllowDataDestruction: true}}),
			privileged: true,
			wantReason: reason.HostAccessNotAllowed,
			want:       []string{"spec.targets[t].blockDevice.path", "/dev/sda", "hostAccess.devices"},
		},
		"an allowed device in a namespace without consent": {
			spec:       target(v1alpha1.Target{BlockDevice: &v1alpha1.BlockDeviceTarget{Path: "/dev/loop9", AllowDataDestruction: true}}),
			wantReason: reason.PodSecurityForbids,
			want:       []string{"spec.targets[t].blockDevice", podSecurity + "=privileged"},
		},
		"more trials than a worker can have": {
			spec: func(s *v1alpha1.StorageBenchmarkSpec) {
				s.Trials.Min = 100
				for _, name := range []string{"b", "c", "d", "e", "f"} {
					w := s.Workloads[0].DeepCopy()
					w.Name = name
					s.Workloads = append(s.Workloads, *w)
				}
			},
			wantReason: reason.InvalidSpec,
			want:       []string{"spec.trials.min", "600"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			if c.privileged {
				l.label(podSecurity, "privileged")
			}
			b := l.benchmark("refused", c.spec)
			got := l.await(b, c.wantReason)
			for _, want := range c.want {
				if !strings.Contains(got.Message, want) {
					t.Errorf("the message does not say %q: %s", want, got.Message)
				}
			}
			if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) || b.Status.Run != nil {
				t.Errorf("status: %+v", b.Status)
			}
			if jobs := l.jobs(b); len(jobs) > 0 {
				t.Errorf("Jobs were made: %+v", jobs)
			}
			l.nothingLeft()
		})
	}
}

const podSecurity = "pod-security.kubernetes.io/enforce"

func target(t v1alpha1.Target) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		t.Name = "t"
		s.Targets = []v1alpha1.Target{t}
	}
}

func jobFile(text string) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads[0].Fio = &v1alpha1.FioWorkload{JobFile: text}
	}
}

func (l *lab) label(key, value string) {
	l.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}
	patch := []byte(`{"metadata":{"labels":{"` + key + `":"` + value + `"}}}`)
	if err := api.Patch(l.ctx, ns, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		l.t.Fatal(err)
	}
}

func TestAnObstacleThatIsRemovedIsNoticed(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("patient", func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = l.namespace })
	l.await(b, reason.StorageClassNotFound)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Provisioner: "example.com/none"}
	if err := api.Create(l.ctx, class); err != nil {
		t.Fatal(err)
	}
	l.finish(b, well)
	l.await(b, reason.Finished)
}

func TestAQuotaThatForbidsTheVolumeIsSaid(t *testing.T) {
	l := newLab(t, 1)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "small"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsStorage: quantity("1Gi")}},
	}
	if err := api.Create(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard = quota.Spec.Hard
	quota.Status.Used = corev1.ResourceList{corev1.ResourceRequestsStorage: quantity("0")}
	if err := api.Status().Update(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("large", as)
	if c := l.await(b, reason.PodRejected); !strings.Contains(c.Message, "exceeded quota: small") {
		t.Error(c.Message)
	}
	if err := api.Delete(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	l.finish(b, well)
	l.await(b, reason.Finished)
}

// Stores: each kind of wrong store says what is wrong with it, and a benchmark
// that uses it waits and says the same.
func TestAStoreSaysWhatIsWrongWithIt(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "wrong"},
		StringData: map[string]string{"accessKeyID": accessKey, "secretAccessKey": "not the secret"},
	}
	half := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "half"},
		StringData: map[string]string{"accessKeyID": accessKey},
	}
	for _, s := range []*corev1.Secret{secret, half} {
		if err := api.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spec       func(*v1alpha1.ResultStoreSpec)
		wantReason string
		want       []string
	}{
		"missing-bucket":   {func(s *v1alpha1.ResultStoreSpec) { s.Bucket = "elsewhere" }, reason.BucketNotFound, []string{"spec.bucket", `"elsewhere"`, "create it or correct the name"}},
		"wrong-secret":     {func(s *v1alpha1.ResultStoreSpec) { s.SecretRef.Name = "wrong" }, reason.InvalidCredentials, []string{"spec.secretRef", "wrong", "correct"}},
		"missing-secret":   {func(s *v1alpha1.ResultStoreSpec) { s.SecretRef.Name = "none" }, reason.SecretNotFound, []string{"spec.secretRef.name", "none", "create it"}},
		"incomplete":       {func(s *v1alpha1.ResultStoreSpec) { s.SecretRef.Name = "half" }, reason.SecretNotFound, []string{"spec.secretRef.name", "secretAccessKey"}},
		"endpoint-down":    {func(s *v1alpha1.ResultStoreSpec) { s.Endpoint = "http://127.0.0.1:1" }, reason.EndpointUnreachable, []string{"spec.endpoint", "127.0.0.1:1", "start the server"}},
		"tls-where-no-tls": {func(s *v1alpha1.ResultStoreSpec) { s.Endpoint = strings.Replace(s.Endpoint, "http:", "https:", 1) }, reason.EndpointUnreachable, []string{"spec.endpoint"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			rs := resultStore(l.namespace, c.spec)
			if err := api.Create(l.ctx, rs); err != nil {
				t.Fatal(err)
			}
			b := l.benchmark("waits", func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = rs.Name })
			var message string
			l.eventually("the store is checked", func() error {
				err := api.Get(l.ctx, client.ObjectKeyFromObject(rs), rs)
				if got := meta.FindStatusCondition(rs.Status.Conditions, v1alpha1.ConditionAvailable); got != nil {
					message = got.Message
					if got.Status != metav1.ConditionFalse || got.Reason != c.wantReason {
						t.Fatalf("condition: %+v", got)
					}
					return nil
				}
				return errNotYet(err)
			})
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("the store does not say %q: %s", want, message)
				}
			}
			if strings.Contains(message, "not the secret") || strings.Contains(message, "Signature=") {
				t.Errorf("a secret is in the message: %s", message)
			}
			l.eventually("the benchmark says so too", func() error {
				if got := l.await(b, reason.StoreUnavailable); !strings.Contains(got.Message, c.wantReason) {
					return errNotYet(nil)
				}
				return nil
			})
			if jobs := l.jobs(b); len(jobs) > 0 {
				t.Errorf("Jobs were made: %+v", jobs)
			}
			if err := api.Delete(l.ctx, b); err != nil {
				t.Fatal(err)
			}
			if err := api.Delete(l.ctx, rs); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAStoreThatIsMendedIsNoticed(t *testing.T) {
	l := newLab(t, 1)
	rs := resultStore(l.namespace, func(s *v1alpha1.ResultStoreSpec) { s.Bucket = "elsewhere" })
	if err := api.Create(l.ctx, rs); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("waits", func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = rs.Name })
	l.await(b, reason.StoreUnavailable)
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(rs), rs); err != nil {
		t.Fatal(err)
	}
	before := rs.DeepCopy()
	rs.Spec.Bucket = bucketName
	if err := api.Patch(l.ctx, rs, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	l.finish(b, well)
	l.await(b, reason.Finished)
}

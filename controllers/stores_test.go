package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

func TestEveryErrorOfAStoreNamesItsFieldAndARemedy(t *testing.T) {
	rs := &v1alpha1.ResultStore{Spec: v1alpha1.ResultStoreSpec{
		Endpoint: "https://s3.example.com", Bucket: "results", SecretRef: v1alpha1.SecretReference{Name: "keys"},
	}}
	for _, c := range []struct {
		err        error
		wantReason string
		want       []string
	}{
		{errSecret, v1alpha1.ReasonSecretNotFound, []string{"spec.secretRef.name", "create it with the keys"}},
		{store.ErrNoBucket, v1alpha1.ReasonBucketNotFound, []string{"spec.bucket", "create it or correct"}},
		{store.ErrCredentials, v1alpha1.ReasonInvalidCredentials, []string{"spec.secretRef", "correct accessKeyID"}},
		{store.ErrDenied, v1alpha1.ReasonAccessDenied, []string{"spec.secretRef", "s3:PutObject"}},
		{store.ErrTLS, v1alpha1.ReasonTLSFailed, []string{"spec.caBundle", "PEM"}},
		{store.ErrUnreachable, v1alpha1.ReasonEndpointUnreachable, []string{"spec.endpoint", "start the server"}},
		{errors.New("slow down"), v1alpha1.ReasonStoreError, []string{"spec.endpoint", "slow down"}},
	} {
		reason, message := storeTrouble(rs, fmt.Errorf("put: %w", c.err))
		if reason != c.wantReason {
			t.Errorf("%v is %s, want %s", c.err, reason, c.wantReason)
		}
		for _, want := range c.want {
			if !strings.Contains(message, want) {
				t.Errorf("%s does not say %q: %s", reason, want, message)
			}
		}
	}
}

func TestPathsOfTheNodeAreDeniedUnlessTheyAreAllowed(t *testing.T) {
	host := HostAccess{Paths: []string{"/tank/", "/mnt/fast"}, Devices: []string{"/dev/loop*", "/dev/disk/by-id/nvme-*"}}
	for path, want := range map[string]bool{
		"/tank": true, "/tank/a/b": true, "/mnt/fast": true, "/mnt/fast/x": true,
		"/": false, "/tankard": false, "/mnt": false, "/mnt/faster": false, "/tank/../etc": false, "/tank/./a": false,
	} {
		if got := host.allows(trial.HostPath, path); got != want {
			t.Errorf("hostPath %s: %v", path, got)
		}
	}
	for path, want := range map[string]bool{
		"/dev/loop7": true, "/dev/disk/by-id/nvme-x": true,
		"/dev/sda": false, "/dev/loop7/x": false, "/dev/loop/../sda": false, "/tank": false,
	} {
		if got := host.allows(trial.BlockDevice, path); got != want {
			t.Errorf("blockDevice %s: %v", path, got)
		}
	}
	if (HostAccess{}).allows(trial.HostPath, "/tank") || host.allows(trial.StorageClass, "/tank") {
		t.Error("something is allowed that nobody allowed")
	}
}

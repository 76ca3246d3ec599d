package stores

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/store"
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
		{errSecret, reason.SecretNotFound, []string{"spec.secretRef.name", "create it with the keys"}},
		{errSecretForbidden, reason.SecretNotFound, []string{"spec.secretRef.name", "add keys to the chart's value resultStore.secretNames"}},
		{store.ErrNoBucket, reason.BucketNotFound, []string{"spec.bucket", "create it or correct"}},
		{store.ErrCredentials, reason.InvalidCredentials, []string{"spec.secretRef", "correct accessKeyID"}},
		{store.ErrDenied, reason.AccessDenied, []string{"spec.secretRef", "s3:PutObject"}},
		{store.ErrTLS, reason.TLSFailed, []string{"spec.caBundle", "PEM"}},
		{store.ErrUnreachable, reason.EndpointUnreachable, []string{"spec.endpoint", "start the server"}},
		{errors.New("slow down"), reason.StoreError, []string{"spec.endpoint", "slow down"}},
	} {
		reason, message := Trouble(rs, fmt.Errorf("put: %w", c.err))
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

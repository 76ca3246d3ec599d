package stores

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Seals makes the keys that workers seal their documents with (result.SealingKey), from the signing key in
// ReceiverSecret. A worker whose Job is made again gets the same one.
type Seals struct {
	Live      client.Reader
	Writer    client.Client
	Namespace string
}

// Key returns the key of one worker of the plan's run.
func (s *Seals) Key(ctx context.Context, p *trial.Plan, worker string) (result.SealingKey, error) {
	var signingKey []byte
	// The receiver may fill the Secret at the same time.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		signingKey, err = s.signingKey(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte("seal\n" + p.Keys().Prefix() + "\n" + worker)) // never fails; what the inbox signs begins otherwise
	return mac.Sum(nil), nil
}

// signingKey reads the key, and makes one if there is none.
func (s *Seals) signingKey(ctx context.Context) ([]byte, error) {
	secret, err := receiverSecret(ctx, s.Live, s.Namespace)
	if err != nil || len(secret.Data[secretSigningKey]) >= signingKeyBytes {
		return secret.Data[secretSigningKey], err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[secretSigningKey] = newSigningKey()
	if err := s.Writer.Update(ctx, secret); err != nil {
		return nil, fmt.Errorf("filling Secret %s in namespace %s: %w", secret.Name, secret.Namespace, err)
	}
	return secret.Data[secretSigningKey], nil
}

func receiverSecret(ctx context.Context, live client.Reader, namespace string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ReceiverSecret}, secret); err != nil {
		return secret, fmt.Errorf("reading Secret %s in namespace %s, which the chart creates: %w", ReceiverSecret, namespace, err)
	}
	return secret, nil
}

const signingKeyBytes = 32

func newSigningKey() []byte {
	key := make([]byte, signingKeyBytes)
	_, _ = rand.Read(key) // never fails
	return key
}

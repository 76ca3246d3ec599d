package stores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/store/inbox"
)

// LabelDocument marks the ConfigMaps that hold documents of runs without a ResultStore.
const LabelDocument = "storagebench.io/document"

// Fields of such a ConfigMap. The key is in it, as its name is only a hash of the key.
const (
	documentKey  = "key"
	documentBody = "document.gz"
)

// Keeper keeps documents in ConfigMaps of the operator's namespace, which no tenant can reach.
type Keeper struct {
	Client client.Client
	// Live reads without a cache: ConfigMaps are read once, when the operator starts.
	Live      client.Reader
	Namespace string
}

var _ inbox.Backing = (*Keeper)(nil)

// listPage is how many ConfigMaps are read at a time: a page of the largest has 32 MiB.
const listPage = 50

// Load returns the documents by their keys.
func (k *Keeper) Load(ctx context.Context) (map[string][]byte, error) {
	all := map[string][]byte{}
	page := &corev1.ConfigMapList{}
	for {
		err := k.Live.List(ctx, page, client.InNamespace(k.Namespace), client.MatchingLabels{LabelDocument: "true"}, client.Limit(listPage), client.Continue(page.Continue))
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			cm := &page.Items[i]
			key, body := cm.Data[documentKey], cm.BinaryData[documentBody]
			if key != "" && cm.Name == documentName(key) && len(body) <= inbox.MaxObject {
				all[key] = body
			}
		}
		if page.Continue == "" {
			return all, nil
		}
	}
}

// Save creates the document's ConfigMap, or replaces its content.
func (k *Keeper) Save(ctx context.Context, key string, compressed []byte) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.Namespace, Name: documentName(key),
			Labels: map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy, LabelDocument: "true"},
		},
		Data:       map[string]string{documentKey: key},
		BinaryData: map[string][]byte{documentBody: compressed},
	}
	err := k.Client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		cm.ResourceVersion = ""
		err = k.Client.Update(ctx, cm)
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s in namespace %s: %w", cm.Name, cm.Namespace, err)
	}
	return nil
}

// Delete deletes the document's ConfigMap.
func (k *Keeper) Delete(ctx context.Context, key string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: documentName(key)}}
	return client.IgnoreNotFound(k.Client.Delete(ctx, cm))
}

func documentName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "storagebench-document-" + hex.EncodeToString(sum[:16])
}

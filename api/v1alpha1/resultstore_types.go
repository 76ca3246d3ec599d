package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResultStoreSpec says where results are kept: one bucket of an S3-compatible
// object store. The credentials stay in the operator's namespace; workers get
// URLs that are signed for their own objects only.
type ResultStoreSpec struct {
	// endpoint is the URL of the S3 API, without a path: https://s3.example.com
	// or http://minio.minio.svc:9000. http is for networks that are trusted.
	// Workers upload to the same URL, so it must resolve in their Pods too.
	// +required
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[A-Za-z0-9.\\\\-\\\\[\\\\]:]+/?$')",message="endpoint must be http://HOST[:PORT] or https://HOST[:PORT], without a path, a user or a query"
	Endpoint string `json:"endpoint"`

	// bucket must exist; the operator does not create it.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	Bucket string `json:"bucket"`

	// prefix is put before every object key, as folders: "team-a/benchmarks".
	// Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)*$`
	Prefix string `json:"prefix,omitempty"`

	// region is the bucket's region. Default: us-east-1, which MinIO and most
	// other servers accept.
	// +optional
	// +kubebuilder:default="us-east-1"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	Region string `json:"region,omitempty"`

	// secretRef names a Secret in the operator's namespace with the keys
	// accessKeyID and secretAccessKey.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// namespaceSelector selects the namespaces whose benchmarks may store results here, by
	// their labels; kubernetes.io/metadata.name is a namespace's own name. Default: every namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// caBundle holds PEM certificates (base64 in YAML, as for every bytes field)
	// that sign the endpoint's certificate. Default: the certificates of the image.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	CABundle []byte `json:"caBundle,omitempty"`
}

// SecretReference names a Secret in the operator's namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ResultStoreStatus tells whether the store takes objects.
type ResultStoreStatus struct {
	// observedGeneration is the generation of the spec that was last checked.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// lastCheckTime is when the store was last written to as a check.
	// +optional
	LastCheckTime *metav1.Time `json:"lastCheckTime,omitempty"`

	// conditions: Available (see its reasons in docs/reference/conditions.md).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResultStore is a bucket that results go to. It is cluster-scoped, so that its
// credentials need not be in the namespaces where benchmarks run.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=storagebench
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.bucket`
// +kubebuilder:printcolumn:name="Checked",type=date,JSONPath=`.status.lastCheckTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].message`,priority=1
type ResultStore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is where results go.
	// +required
	Spec ResultStoreSpec `json:"spec"`
	// status is what the last check found. Before the first, observedGeneration is -1.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status ResultStoreStatus `json:"status,omitempty"`
}

// ResultStoreList is a list of ResultStores.
//
// +kubebuilder:object:root=true
type ResultStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResultStore `json:"items"`
}

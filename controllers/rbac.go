package controllers

// What the operator's token may do, all of it and in one place: a right that nobody can
// find is never taken back. make manifests turns the markers into roles: those without a
// namespace become ClusterRoles (the chart divides them into what is cluster-scoped and
// what is needed where benchmarks are), those of storagebench-system a Role in the
// operator's namespace, those of storagebench-system-restore one where restore Jobs run.
// test/chart has the list of what may be here; the admission policies of the chart say
// which objects these verbs may be used on.

// Where benchmarks are. Of Secrets it may create those of its workers, and can neither
// read, change nor delete any.
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarkschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarkschedules/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=storagebench.io,resources=storagebenchmarkschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// In the cluster.
// +kubebuilder:rbac:groups="",resources=namespaces;nodes;persistentvolumes,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=storagebench.io,resources=resultstores;tunablepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=storagebench.io,resources=resultstores/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=storagebench.io,resources=noderestores,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=storagebench.io,resources=noderestores/status,verbs=update;patch
// +kubebuilder:rbac:groups=storagebench.io,resources=noderestores/finalizers,verbs=update

// Who scrapes metrics shows a token, which the API server knows, and which right it has.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// In the operator's namespace. The Secret has the credentials of a ResultStore; the
// chart's resultStore.secretNames lists others.
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=secrets,resourceNames=storagebench-store,verbs=get
// The other Secret has the key and the certificate of the operator's own store, whose documents
// are in ConfigMaps.
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=secrets,resourceNames=storagebench-receiver,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=configmaps,verbs=list;create;update;delete
// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=events,verbs=create;patch
// Release 0.1 restored nodes in this namespace; its Jobs are deleted when they are found.
// +kubebuilder:rbac:groups=batch,namespace=storagebench-system,resources=jobs,verbs=delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=storagebench-system,resources=leases,verbs=get;list;watch;create;update;patch;delete

// Where restore Jobs run. Pods are created with dryRun only, to ask whether the Job's
// would be admitted, before a setting is changed.
// +kubebuilder:rbac:groups=batch,namespace=storagebench-system-restore,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",namespace=storagebench-system-restore,resources=pods,verbs=get;list;watch;create

package v1alpha1

// ResultStoreName returns the name of the ResultStore that the benchmark's run uses: that of the
// spec, or the one that its run has recorded; "" is the operator's own.
func (b *StorageBenchmark) ResultStoreName() string {
	switch {
	case b.Spec.Results != nil:
		return b.Spec.Results.StoreRef.Name
	case b.Status.Run != nil:
		return b.Status.Run.ResultStore
	}
	return ""
}

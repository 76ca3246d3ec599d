package admission

import (
	storagev1 "k8s.io/api/storage/v1"

	"storagebench.io/storagebench/internal/trial"
)

// classes returns what the StorageClasses of a benchmark's targets make volumes with, by target.
func classes(f Facts) map[string]*trial.ClassIdentity {
	out := map[string]*trial.ClassIdentity{}
	for _, target := range f.Benchmark.Spec.Targets {
		if target.StorageClass == nil {
			continue
		}
		if class := f.Classes[target.StorageClass.Name]; class != nil {
			out[target.Name] = classOf(class)
		}
	}
	return out
}

// classOf converts a StorageClass.
func classOf(class *storagev1.StorageClass) *trial.ClassIdentity {
	c := trial.ClassIdentity{Provisioner: class.Provisioner, Parameters: class.Parameters, MountOptions: class.MountOptions}
	if class.VolumeBindingMode != nil {
		c.BindingMode = string(*class.VolumeBindingMode)
	}
	if class.ReclaimPolicy != nil {
		c.Reclaim = string(*class.ReclaimPolicy)
	}
	return trial.NewClassIdentity(c)
}

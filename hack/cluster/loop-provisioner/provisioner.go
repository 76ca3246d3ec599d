package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Parameters of a StorageClass.
const (
	parameterFSType      = "fsType"      // ext4 (default), xfs
	parameterPreallocate = "preallocate" // "true": the file's blocks are allocated at once
)

const mebibyte = 1 << 20

// minimumBytes is the smallest volume that each file system's mkfs accepts.
// mkfs.xfs has refused less than 300 MiB since 5.19.
var minimumBytes = map[string]int64{"ext4": 16 * mebibyte, "xfs": 300 * mebibyte, "": mebibyte}

// volume is what a claim asks for, checked.
type volume struct {
	name        string // the PersistentVolume's
	node        string
	bytes       int64
	fsType      string // "" is a raw device
	preallocate bool
}

type provisioner struct {
	devices loops
}

var _ controller.BlockProvisioner = (*provisioner)(nil)

// SupportsBlock says that a claim may have volumeMode Block.
func (p *provisioner) SupportsBlock(context.Context) bool { return true }

// Provision makes the device of one claim. The library records an error as an
// event of the claim and tries again.
func (p *provisioner) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	wanted, err := parse(options)
	if err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	device, err := p.devices.create(ctx, wanted)
	if err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("make the loop device of %s on %s: %w", wanted.name, wanted.node, err)
	}
	return persistentVolume(wanted, device, options), controller.ProvisioningFinished, nil
}

// Delete removes the device of a volume whose claim is gone.
func (p *provisioner) Delete(ctx context.Context, pv *corev1.PersistentVolume) error {
	node, err := nodeOf(pv)
	if err != nil {
		return err
	}
	return p.devices.remove(ctx, node, pv.Name)
}

// parse checks a claim and its class.
func parse(options controller.ProvisionOptions) (volume, error) {
	claim, class := options.PVC, options.StorageClass
	v := volume{name: options.PVName, node: options.SelectedNodeName, fsType: "ext4"}
	if v.node == "" {
		return v, fmt.Errorf("the class %s must have volumeBindingMode WaitForFirstConsumer: a loop device belongs to one node", class.Name)
	}
	for key, value := range class.Parameters {
		switch {
		case key == parameterFSType && (value == "ext4" || value == "xfs"):
			v.fsType = value
		case key == parameterPreallocate && (value == "true" || value == "false"):
			v.preallocate = value == "true"
		default:
			return v, fmt.Errorf("the class %s has parameter %s: %q; known are fsType (ext4, xfs) and preallocate (true, false)", class.Name, key, value)
		}
	}
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		v.fsType = ""
	}
	if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) || slices.Contains(claim.Spec.AccessModes, corev1.ReadOnlyMany) {
		return v, fmt.Errorf("a loop device is on one node: accessModes must be ReadWriteOnce or ReadWriteOncePod")
	}
	request := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if least := minimumBytes[v.fsType]; request.Value() < least {
		return v, fmt.Errorf("the claim asks for %s, a %s volume needs at least %s: raise spec.resources.requests.storage",
			request.String(), kind(v.fsType), resource.NewQuantity(least, resource.BinarySI))
	}
	v.bytes = (request.Value() + mebibyte - 1) / mebibyte * mebibyte
	return v, nil
}

func kind(fsType string) string {
	if fsType == "" {
		return "Block"
	}
	return fsType
}

// persistentVolume publishes a device. The kubelet mounts it itself: a local
// volume whose path is a block device is mounted as fsType.
func persistentVolume(v volume, device string, options controller.ProvisionOptions) *corev1.PersistentVolume {
	source := &corev1.LocalVolumeSource{Path: device}
	if v.fsType != "" {
		source.FSType = &v.fsType
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: v.name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(v.bytes, resource.BinarySI)},
			AccessModes:                   options.PVC.Spec.AccessModes,
			VolumeMode:                    options.PVC.Spec.VolumeMode,
			MountOptions:                  options.StorageClass.MountOptions,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: source},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{v.node},
					}},
				}},
			}},
		},
	}
}

// nodeOf is the node that a volume of ours is pinned to.
func nodeOf(pv *corev1.PersistentVolume) (string, error) {
	if affinity := pv.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		for _, term := range affinity.Required.NodeSelectorTerms {
			for _, match := range term.MatchExpressions {
				if match.Key == corev1.LabelHostname && len(match.Values) == 1 {
					return match.Values[0], nil
				}
			}
		}
	}
	return "", fmt.Errorf("the volume %s is pinned to no node: it was not made here", pv.Name)
}

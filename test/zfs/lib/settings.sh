# What the guest is and where its things are. Sets variables only.
# shellcheck shell=bash disable=SC2034,SC2153  # used by, and from, other parts

# Below the cluster's state: a guest is a node of one cluster and goes with it.
GUEST=$STATE/zfs
GUEST_LOCK=$LOCK-zfs
# So that the guest's logs go with the guest.
LOGS=$GUEST/logs

GUEST_NODE=zfs
# Beside those of the other nodes (hack/cluster/lib/settings.sh).
GUEST_ADDRESS=10.90.0.13
GUEST_PODS=10.91.3 # first three bytes
GUEST_TAP=sbench-zfs
GUEST_MAC=52:54:00:5a:46:53
# The node's label, and the taint that keeps other Pods away.
GUEST_LABEL=storagebench.io/zfs

GUEST_MEMORY=3G
NODE_DISK_SIZE=6G
POOL_DISK_SIZE=4G
# Room for the project's image.
IMAGE_DISK_SIZE=1G

# Whatever release the host is: ZFS comes from this one's backports.
GUEST_RELEASE=bookworm

# Of the host, Debian packages.
HOST_PACKAGES=(qemu-system-x86 mmdebstrap e2fsprogs cpio zstd fdisk)
# Of the chroot in which the modules are compiled, with the headers' gcc-12.
BUILDER_PACKAGES=(linux-headers-cloud-amd64 gcc libc6-dev make kmod cpio zstd busybox-static)
# Of the guest.
GUEST_PACKAGES=(zfsutils-linux fio postmark bonnie++ runc iptables nftables conntrack iproute2
  busybox-static kmod mount util-linux procps e2fsprogs)
# What the initramfs needs to find and mount the root file system.
BOOT_MODULES=(virtio_pci virtio_blk overlay)

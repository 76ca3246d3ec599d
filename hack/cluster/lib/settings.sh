# Where everything is and what it is called. Sourced first.
# shellcheck shell=bash disable=SC2034  # used by the other parts

# shellcheck source=/dev/null
. "$HERE/versions.env"

# Fixed places, so that a clone recognises the cluster that another one made.
# Another name is another cluster; it needs a network namespace of its own.
ID=${STORAGEBENCH_CLUSTER_ID:-storagebench-cluster}
STATE=/var/lib/$ID # survives a reboot: images, volumes, logs
RUN=/run/$ID       # sockets, process records, mount namespaces
LOGS=$STATE/logs
LOCK=/run/lock/$ID
CGROUP=$ID # name of our cgroup in every hierarchy

# Shared by all clones.
CACHE=${STORAGEBENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/storagebench}
# This clone's: kubeconfig, image, bin/.
LOCAL=$CLONE/.cluster

# Addresses. All are on bridges made here, none is on an interface of the machine.
API_ADDRESS=10.90.0.1
HOST_NETWORK=10.90.0.0/24
POD_NETWORK=10.91.0.0/16
SERVICE_NETWORK=10.92.0.0/16
API_SERVICE=10.92.0.1
DNS_SERVICE=10.92.0.10
HOST_BRIDGE=sbench0
# What "ip link" shows as the alias of an interface that was made here.
LINK_ALIAS=$ID

# The first two nodes also run what the cluster itself needs. 10.90.0.13 and 10.91.3 are
# those of the node with ZFS (test/zfs).
ALL_NODES=(node-a node-b node-c node-d node-e node-f node-g node-h)
LEAST_NODES=2
declare -A NODE_ADDRESS=([node-a]=10.90.0.11 [node-b]=10.90.0.12)
declare -A NODE_PODS=([node-a]=10.91.1 [node-b]=10.91.2) # first three bytes
for i in "${!ALL_NODES[@]}"; do
  ((i < LEAST_NODES)) || NODE_ADDRESS[${ALL_NODES[i]}]=10.90.0.$((i + 20)) NODE_PODS[${ALL_NODES[i]}]=10.91.$((i + 20))
done
unset i
node_bridge() { echo "sbench-${1#node-}"; }

# As many as the environment's NODES says, and no fewer than the cluster that there is has.
ASKED_NODES=${NODES:-$LEAST_NODES} WANTED_NODES=0
if [[ $ASKED_NODES =~ ^[1-9][0-9]?$ ]]; then WANTED_NODES=$ASKED_NODES; fi
HAS_NODES=$(cat "$STATE/nodes" 2>/dev/null || echo 0)
NODES=("${ALL_NODES[@]:0:$((WANTED_NODES > HAS_NODES ? WANTED_NODES : HAS_NODES))}")

# Each node sees its own directory at these paths of the host, in a mount
# namespace of its own: two nodes of one machine must not share the journal of
# changed tunables, and what kubelet, CNI and runc write stays out of the host.
NODE_DIRECTORIES=(/var/lib/kubelet /var/lib/cni /var/lib/storagebench /var/log/pods /var/log/containers /run/containerd)

BUCKET=storagebench
MINIO_NAMESPACE=minio
IMAGE_NAME=storagebench.io/storagebench
SOURCE= # what the project's image is built of, if not this clone

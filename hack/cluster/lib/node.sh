# A node: a mount namespace of its own with containerd and the kubelet in it.
# shellcheck shell=bash

# render FILE KEY=VALUE...: a template with @KEY@ replaced.
render() {
  local text pair
  text=$(<"$1")
  shift
  for pair in STATE="$STATE" RUN="$RUN" CGROUP="$CGROUP" API_ADDRESS="$API_ADDRESS" HOST_NETWORK="$HOST_NETWORK" \
    POD_NETWORK="$POD_NETWORK" DNS_SERVICE="$DNS_SERVICE" ARCH="$(go_arch)" PIDS_KEPT_FREE="${PIDS_KEPT_FREE:-1%}" "$@"; do
    text=${text//"@${pair%%=*}@"/"${pair#*=}"}
  done
  printf '%s\n' "$text"
}

go_arch() {
  case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}

# node_prepare NODE: files and the mount namespace.
node_prepare() {
  local node=$1
  mkdir -p "$STATE/$node/cni" "$RUN/$node" "$RUN/namespaces"
  render "$HERE/config/containerd.toml" NODE="$node" CNI_BIN="$(built cni)" PAUSE_IMAGE="$PAUSE_IMAGE" >"$STATE/$node/containerd.toml"
  render "$HERE/config/cni.json" NODE="$node" BRIDGE="$(node_bridge "$node")" PODS="${NODE_PODS[$node]}" >"$STATE/$node/cni/10-storagebench.conflist"
  render "$HERE/config/kubelet.yaml" NODE="$node" ADDRESS="${NODE_ADDRESS[$node]}" >"$STATE/$node/kubelet.yaml"
  : >"$STATE/resolv.conf"
  cgroup_make "$CGROUP/$node"

  if ! alive "namespace-$node"; then
    # What may still run would be in another namespace than what is started now.
    node_kill "$node"
    mkdir -p "$RUN/$node"
    namespace_start "$node"
  fi
}

# namespace_start NODE: a process that does nothing but keep the node's mount
# namespace. (A bind mount of the namespace's file needs none, but kernel 6.18
# refuses it now and then inside a container.)
namespace_start() {
  local node=$1 directory
  for directory in "${NODE_DIRECTORIES[@]}"; do
    if [ ! -d "$directory" ]; then
      mkdir -p "$directory"
      echo "$directory" >>"$STATE/directories"
    fi
    mkdir -p "$STATE/$node/root$directory"
  done
  # slave: what the machine mounts later is seen by the nodes, not the reverse.
  # shellcheck disable=SC2016  # expanded inside
  daemon "namespace-$node" unshare --mount --propagation slave \
    "$BASH" -euc 'name=$1 root=$2; shift 2
      for directory; do mount --bind "$root$directory" "$directory"; mount --make-rshared "$directory"; done
      exec -a "$name" sleep infinity' \
    node-namespace "$RUN/$node" "$STATE/$node/root" "${NODE_DIRECTORIES[@]}"
  ready "namespace-$node" 20 namespace_complete "$node"
  mkdir -p "$RUN/namespaces"
  ln -sfn "$(namespace "$node")" "$RUN/namespaces/$node"
}

namespace() { echo "/proc/$(recorded_pid "namespace-$1")/ns/mnt"; }

namespace_complete() { [ "$(cat "/proc/$(recorded_pid "namespace-$1")/comm")" = sleep ]; }

inside() {
  local node=$1
  shift
  nsenter --mount="$(namespace "$node")" -- "$@"
}

containerd_start() {
  local node=$1
  daemon "containerd-$node" nsenter --mount="$(namespace "$node")" -- \
    env PATH="$(built containerd):/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    "$(program containerd containerd)" --config "$STATE/$node/containerd.toml"
}

kubelet_start() {
  local node=$1
  daemon "kubelet-$node" nsenter --mount="$(namespace "$node")" -- \
    env PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    "$(program kubernetes kubelet)" --config="$STATE/$node/kubelet.yaml" \
    --kubeconfig="$STATE/pki/$node.kubeconfig" --hostname-override="$node" --node-ip="${NODE_ADDRESS[$node]}" \
    --root-dir=/var/lib/kubelet --cert-dir="$STATE/$node/certificates" --v=1
}

ctr_node() {
  local node=$1
  shift
  CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$(program containerd ctr)" --address "$RUN/$node/containerd.sock" --namespace k8s.io "$@"
}

# cgroup_make PATH: in every hierarchy there is. With cgroup v1 each controller
# is a hierarchy; with v2 there is one, whose controllers must be passed down.
cgroup_make() {
  local root controllers
  for root in $(cgroup_roots); do
    mkdir -p "$root/$1"
    if [ -e "$root/cgroup.controllers" ]; then
      controllers=$(sed -E 's/(^| )/\1+/g' "$root/cgroup.controllers")
      pass_down "$root" "$1" "$controllers"
    elif [ -e "$root/cpuset.cpus" ]; then
      inherit_cpus "$root" "$1"
    fi
  done
}

cgroup_roots() { awk '$3 ~ /^cgroup2?$/ && $2 ~ "^/sys/fs/cgroup" {print $2}' /proc/mounts; }

pass_down() {
  local path=$1 part controller
  for part in "" ${2//\// }; do
    path=$path${part:+/$part}
    # One by one: a controller that the root cannot pass down must not stop the rest.
    for controller in $3; do
      [ "$controller" = + ] || echo "$controller" >"$path/cgroup.subtree_control" 2>/dev/null || true
    done
  done
}

# A new cpuset of cgroup v1 has no CPUs and takes no process.
inherit_cpus() {
  local parent=$1 part file
  for part in ${2//\// }; do
    for file in cpuset.cpus cpuset.mems; do
      [ -n "$(<"$parent/$part/$file")" ] || cat "$parent/$file" >"$parent/$part/$file"
    done
    parent=$parent/$part
  done
}

# cgroup_kill PATH: every process in it, in every hierarchy.
cgroup_kill() {
  local root pids=()
  for root in $(cgroup_roots); do
    [ -d "$root/$1" ] || continue
    # shellcheck disable=SC2207  # numbers
    pids+=($(find "$root/$1" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un))
  done
  ((${#pids[@]})) || return 0
  kill -KILL "${pids[@]}" 2>/dev/null || true
}

cgroup_processes() {
  local root
  for root in $(cgroup_roots); do
    [ ! -d "$root/$1" ] || find "$root/$1" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -un
}

# shims NODE: containerd starts one a Pod, and it outlives containerd.
shims() {
  local pid
  for pid in $(pgrep -f -- "-address $RUN/$1/containerd.sock" 2>/dev/null); do
    [ "$(tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | head -n 1 | sed 's,.*/,,')" = containerd-shim-runc-v2 ] && echo "$pid"
  done
  return 0
}

# node_kill NODE: what a power cut does: daemons, shims and Pods end at once,
# and mounts and /run are gone. The disks, which are the loop devices, stay.
node_kill() {
  local node=$1 pids
  stop "kubelet-$node" KILL
  stop "containerd-$node" KILL
  pids=$(shims "$node")
  # shellcheck disable=SC2086  # numbers
  [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
  wait_for 20 "the Pods of $node to end" cgroup_dies "$CGROUP/$node"
  stop "namespace-$node" KILL
  wait_for 10 "the raw volumes of $node to be let go" detach_uppers "$node"
  rm -rf --one-file-system "${RUN:?}/$node" "$STATE/$node/root/run"
}

cgroup_dies() {
  cgroup_kill "$1"
  [ -z "$(cgroup_processes "$1")" ]
}

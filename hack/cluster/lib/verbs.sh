# What "cluster VERB" does, from the parts.
# shellcheck shell=bash

verb_help() {
  cat <<EOF2
hack/cluster/cluster VERB: a real Kubernetes on this machine (docs/how-to/local-cluster.md)

  up               make the cluster, or find the one that runs; writes .cluster/kubeconfig
  down             remove it, and everything it made
  status           what runs, nodes, classes, object store
  images           build the project's images again and import them; writes .cluster/image, .cluster/worker-image
  images DIRECTORY build one image with both programs of another checkout; writes .cluster/image-other
  assets           build kube-apiserver, etcd and kubectl for envtest; prints their directory
  tools NAME...    build kubectl, helm, crane, ctr, minio, kwok, …; prints their directory
  node-stop NODE   fail a node as a power cut does (--keep-pods: only kubelet and containerd)
  node-start NODE  start it again (--pressed: the kubelet takes no processes to be left, and evicts Pods)

CLUSTER=current makes "up" check your own cluster (KUBECONFIG, ~/.kube/config) and make nothing.
NODES is how many nodes "up" makes, $LEAST_NODES to ${#ALL_NODES[@]}; a cluster that runs gets more, and never fewer.
STORAGEBENCH_CACHE is where builds are kept ($CACHE).
EOF2
}

current() { [ "${CLUSTER:-}" = current ]; }

verb_up() {
  local begin
  begin=$(now)
  if current; then
    up_current
    return
  fi
  need_linux_root
  need_number_of_nodes
  lock "$LOCK"
  need_go
  image_names
  if live; then
    build_missing
    say "cluster: found a running one, created by $(cat "$STATE/clone" 2>/dev/null || echo "another clone")"
    up_revive
    local_files
    project_image
    echo "cluster-up: ok: ${#NODES[@]} nodes ready, reused ($(($(now) - begin)) s)"
    return
  fi
  need_packages
  load_modules
  # Before the compilers run for ten minutes. Where a dead cluster of ours lies,
  # what is taken is its own.
  remains || check_addresses_free
  prepare_programs
  if remains; then
    say "[clean]  removing what a dead cluster left"
    clean
    clean_report "        remains" >&2 || die "cannot remove everything that a dead cluster left; reboot the machine to remove the rest"
    NODES=("${ALL_NODES[@]:0:WANTED_NODES}") # the dead one may have had more
  fi
  local warm
  warm=$(now)
  create
  echo "cluster-up: ok: ${#NODES[@]} nodes ready, classes loop-ext4 (default) and loop-xfs, MinIO at minio.minio.svc:9000, $(project_reference) ($(($(now) - begin)) s, of it $(($(now) - warm)) s to start)"
}

project_reference() { if [ -s "$LOCAL/image" ]; then echo "image $(<"$LOCAL/image")"; else echo "no project image yet"; fi; }

# prepare_programs: compilers in one lane, Debian's packages for the image in another.
prepare_programs() {
  local base
  base_image "[base]" &
  base=$!
  build_all "${CLUSTER_COMPONENTS[@]}"
  wait "$base" || die "the base image does not build (see above)"
  system_images
  base_image_file
}

create() {
  local node jobs=() job project
  say "[start]  network, certificates, control plane"
  mkdir -p "$STATE" "$RUN" "$LOGS"
  chmod 711 "$STATE" "$RUN"
  echo "$CLONE" >"$STATE/clone"
  echo "${#NODES[@]}" >"$STATE/nodes"
  # Compiled beside the start, which mostly waits.
  project_layers >"$LOGS/project-build.log" 2>&1 &
  project=$!
  network_up
  pki_up
  etcd_start
  apiserver_start
  for node in "${NODES[@]}"; do
    node_prepare "$node"
    containerd_start "$node"
  done
  for node in "${NODES[@]}"; do
    ready "containerd-$node" 60 ctr_node "$node" version
    import_system_images "$node" &
    jobs+=($!)
  done
  ready etcd 60 true
  ready kube-apiserver 120 api_ready
  controllers_start
  for node in "${NODES[@]}"; do kubelet_start "$node"; done
  wait_for 60 "the API server to accept the first objects" addons_apply || die "the API server refused the cluster's own objects (see above)"
  for job in "${jobs[@]}"; do wait "$job" || fail; done
  say "[start]  nodes"
  components_ready
  local_files
  say "[start]  DNS and object store"
  addon_ready kube-system coredns
  addon_ready "$MINIO_NAMESPACE" minio
  minio_bucket || die "could not create the bucket"
  # From here on it is a cluster, even if the project does not compile today.
  touch "$STATE/complete"
  if ! wait "$project"; then
    cat "$LOGS/project-build.log" >&2
    die "the cluster runs, but the project's programs do not build (see above); fix them and run \"cluster images\""
  fi
  project_import
}

components_ready() {
  local name node
  ready kube-controller-manager 60 kubectl get --raw /api/v1/namespaces/default/serviceaccounts/default
  for node in "${NODES[@]}"; do
    ready "kubelet-$node" 120 kubectl wait --for=condition=Ready --timeout=10s "node/$node"
  done
  for name in kube-scheduler kube-proxy loop-provisioner; do
    alive "$name" || ready "$name" 1 false
  done
}

# build_missing: a live cluster made by another version of these files.
build_missing() {
  local name missing=()
  for name in "${CLUSTER_COMPONENTS[@]}"; do [ -d "$(built "$name")" ] || missing+=("$name"); done
  ((${#missing[@]})) || return 0
  build_all "${missing[@]}"
  say "        the running cluster is older than these; \"down\" and \"up\" create a new one"
}

# live: complete once, and its API answers.
live() { [ -e "$STATE/complete" ] && alive etcd && alive kube-apiserver && api_ready 2>/dev/null; }

need_number_of_nodes() {
  ((WANTED_NODES >= LEAST_NODES && WANTED_NODES <= ${#ALL_NODES[@]})) ||
    die "NODES is \"$ASKED_NODES\", but must be a number from $LEAST_NODES to ${#ALL_NODES[@]}"
}

# up_revive: starts what is missing of a live cluster: a node that was stopped, or nodes
# of a larger NODES than it was made with.
up_revive() {
  local name node missing=()
  if ((${#NODES[@]} > HAS_NODES)); then
    for node in "${NODES[@]:HAS_NODES}"; do
      node_network "$node"
      node_pki "$node"
    done
    echo "${#NODES[@]}" >"$STATE/nodes"
  fi
  for name in $(daemons "${NODES[@]}"); do alive "$name" || missing+=("$name"); done
  if ((${#missing[@]})); then
    say "        starting what is missing: ${missing[*]}"
    controllers_start
    for node in "${NODES[@]}"; do node_start "$node"; done
  fi
  components_ready
}

node_start() {
  node_prepare "$1"
  containerd_start "$1"
  ready "containerd-$1" 60 ctr_node "$1" version
  import_system_images "$1"
  kubelet_start "$1"
}

local_files() {
  mkdir -p "$LOCAL"
  install -m 600 "$PKI/admin.kubeconfig" "$LOCAL/kubeconfig"
  link_tools kubectl ctr
}

# A kubectl that works without this cluster: the user's, or the built one.
any_kubectl() {
  if command -v kubectl >/dev/null; then
    command kubectl "$@"
  else
    need_go
    build kubernetes "[kubectl]"
    "$(program kubernetes kubectl)" "$@"
  fi
}

up_current() {
  local config=${KUBECONFIG:-${HOME:-/root}/.kube/config} server
  [ -e "${config%%:*}" ] || die "CLUSTER=current needs a kubeconfig: $config does not exist; set KUBECONFIG"
  any_kubectl --request-timeout=10s get --raw /readyz >/dev/null || die "the cluster of $config does not answer"
  server=$(any_kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
  echo "cluster-up: ok: uses your own cluster at $server (kubeconfig $config); created nothing"
}

verb_down() {
  if current; then
    echo "cluster-down: ok: CLUSTER=current is your own cluster; did nothing"
    return
  fi
  need_linux_root
  lock "$LOCK"
  if remains; then
    need_packages
    clean
  fi
  rm -f "$LOCAL/kubeconfig"
  clean_report cluster-down || fail
}

verb_status() {
  local name pid node verdict=ok problems=()
  need_linux_root
  if ! remains; then
    echo "cluster-status: short: there is no cluster; create one with \"up\""
    fail
  fi
  need_go
  for name in $(daemons "${NODES[@]}"); do
    if pid=$(recorded_pid "$name"); then
      printf '%-26s pid %-8s %s\n' "$name" "$pid" "$LOGS/$name.log"
    else
      printf '%-26s %s\n' "$name" "not running"
      problems+=("$name is not running")
    fi
  done
  if api_ready 2>/dev/null; then
    echo
    kubectl get nodes -o wide
    echo
    kubectl get storageclass
    echo
    kubectl get pods -A -o wide
    for node in "${NODES[@]}"; do
      kubectl get node "$node" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' | grep -q True || problems+=("$node is not ready")
    done
    for name in kube-system/coredns "$MINIO_NAMESPACE/minio"; do
      kubectl -n "${name%/*}" get deployment "${name#*/}" -o 'jsonpath={.status.readyReplicas}' | grep -q 1 || problems+=("$name is not ready")
    done
  else
    problems+=("the API server does not answer")
  fi
  echo
  ((${#problems[@]} == 0)) || verdict=short
  if [ $verdict = ok ]; then
    echo "cluster-status: ok: ${#NODES[@]} nodes ready, DNS and MinIO ready, $(our_loops | count) loop devices, kubeconfig $LOCAL/kubeconfig"
  else
    echo "cluster-status: short: $(printf '%s; ' "${problems[@]}" | sed 's/; $//')"
    fail
  fi
}

verb_images() {
  if current; then
    if [ -z "${IMAGE:-}" ] || [ -z "${WORKER_IMAGE:-}" ]; then
      die "with CLUSTER=current set IMAGE and WORKER_IMAGE to references that your cluster can pull, built from the Dockerfile at the root"
    fi
    mkdir -p "$LOCAL"
    echo "$IMAGE" >"$LOCAL/image"
    echo "$WORKER_IMAGE" >"$LOCAL/worker-image"
    echo "cluster-images: ok: $IMAGE $WORKER_IMAGE"
    return
  fi
  need_linux_root
  lock "$LOCK"
  need_go
  image_names
  live || die "there is no cluster to import into; run \"up\" first"
  if [ $# -gt 0 ]; then
    SOURCE=$(cd "$1" && pwd) || die "there is no directory $1"
  fi
  project_image
  echo "cluster-images: ok: image $(<"$LOCAL/image${SOURCE:+-other}")"
}

verb_assets() {
  local dir
  need_go
  build_all kubernetes etcd
  dir=$CACHE/envtest/$(basename "$(built kubernetes)")-$(basename "$(built etcd)")
  mkdir -p "$dir"
  ln -sfn "$(program kubernetes kube-apiserver)" "$dir/kube-apiserver"
  ln -sfn "$(program kubernetes kubectl)" "$dir/kubectl"
  ln -sfn "$(program etcd etcd)" "$dir/etcd"
  echo "$dir"
}

verb_tools() {
  local name names=()
  (($#)) || die "name the tools: kubectl, kube-controller-manager, helm, crane, ctr, minio, kwok"
  need_go
  for name in "$@"; do
    case $name in
      kubectl | kube-controller-manager) names+=(kubernetes) ;;
      ctr) names+=(containerd) ;;
      helm | crane | minio | kwok) names+=("$name") ;;
      *) die "there is no tool \"$name\"; use kubectl, kube-controller-manager, helm, crane, ctr, minio, kwok" ;;
    esac
  done
  build_all "${names[@]}"
  link_tools "$@"
  echo "$LOCAL/bin"
}

known_node() {
  [[ " ${NODES[*]} " == *" ${1:-} "* ]] || die "name a node: ${NODES[*]}"
}

verb_node_stop() {
  local keep=
  if [ "${1:-}" = --keep-pods ]; then
    keep=yes
    shift
  fi
  need_linux_root
  known_node "${1:-}"
  need_go
  if [ -n "$keep" ]; then
    stop "kubelet-$1" KILL
    stop "containerd-$1" KILL
    echo "cluster-node-stop: ok: kubelet and containerd of $1 are dead, its Pods still run"
  else
    node_kill "$1"
    echo "cluster-node-stop: ok: $1 is dead, with its Pods"
  fi
}

verb_node_start() {
  if [ "${1:-}" = --pressed ]; then
    shift
    export PIDS_KEPT_FREE=1G # more than there can be; 100% would mean none
  fi
  need_linux_root
  known_node "${1:-}"
  need_go
  image_names
  live || die "there is no cluster; run \"up\" first"
  node_start "$1"
  # Its Ready condition is still true for a while after a crash.
  ready "kubelet-$1" 90 kubelet_answers "$1"
  ready "kubelet-$1" 90 kubectl wait --for=condition=Ready --timeout=10s "node/$1"
  echo "cluster-node-start: ok: $1 is ready"
}

kubelet_answers() { kubectl get --raw "/api/v1/nodes/$1/proxy/healthz" | grep -q ok; }

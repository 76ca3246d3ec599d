# What makes the guest a node: certificate, configuration, images. The cluster's own
# templates are used, with the guest's paths.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

# Where they are in the guest.
IN_GUEST_STATE=/var/lib/node
IN_GUEST_RUN=/run/node

# guest_initrd: the cached one, and a second archive behind it with all that is this
# guest's and this cluster's. It is unpacked over the root file system at every start.
guest_initrd() (
  umask 077
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  # The directories' modes are those that the guest's will have.
  (umask 022 && mkdir -p "$tree/config/usr/local/lib/guest" "$tree/config/etc" "$tree/config$IN_GUEST_STATE")
  chmod 755 "$tree"
  install -m 755 "$ZFS_HERE/in-guest/initramfs" "$tree/init"
  install -m 755 -t "$tree/config/usr/local/lib/guest" "$ZFS_HERE"/in-guest/{boot,run,agent}
  (umask 022 && guest_etc "$tree/config/etc")
  guest_node_files "$tree/config$IN_GUEST_STATE"
  (cd "$tree" && find . | cpio --quiet -o -H newc --owner=0:0) >"$GUEST/config.cpio"
  cat "$(<"$GUEST/kernel")/initramfs" "$GUEST/config.cpio" >"$GUEST/initrd"
  rm "$GUEST/config.cpio"
)

guest_etc() {
  install -m 644 "$ZFS_HERE/in-guest/inittab" "$1/inittab"
  echo "$GUEST_NODE" >"$1/hostname"
  printf '127.0.0.1 localhost\n%s %s\n' "$GUEST_ADDRESS" "$GUEST_NODE" >"$1/hosts"
  : >"$1/resolv.conf"
  cat >"$1/guest" <<EOF2
NODE=$GUEST_NODE
ADDRESS=$GUEST_ADDRESS/24
GATEWAY=$API_ADDRESS
CGROUP=$CGROUP/$GUEST_NODE
STATE=$IN_GUEST_STATE
RUN=$IN_GUEST_RUN
EOF2
}

# guest_node_files DIRECTORY: what the cluster's own nodes have below their state directory.
guest_node_files() {
  local name node=$1/$GUEST_NODE
  mkdir -p "$1/pki" "$node/cni"
  if [ ! -e "$PKI/$GUEST_NODE.kubeconfig" ]; then
    certificate "$GUEST_NODE" ca "/O=system:nodes/CN=system:node:$GUEST_NODE" "DNS:$GUEST_NODE,IP:$GUEST_ADDRESS"
    kubeconfig "$GUEST_NODE"
  fi
  for name in ca.crt "$GUEST_NODE.crt" "$GUEST_NODE.key" "$GUEST_NODE.kubeconfig" proxy.kubeconfig; do
    cp "$PKI/$name" "$1/pki/$name"
  done
  : >"$1/resolv.conf"
  guest_render containerd.toml NODE="$GUEST_NODE" CNI_BIN=/opt/cni/bin PAUSE_IMAGE="$PAUSE_IMAGE" >"$node/containerd.toml"
  guest_render cni.json NODE="$GUEST_NODE" BRIDGE=cni0 PODS="$GUEST_PODS" >"$node/cni/10-storagebench.conflist"
  guest_render kubelet.yaml NODE="$GUEST_NODE" ADDRESS="$GUEST_ADDRESS" >"$node/kubelet.yaml"
  echo "registerWithTaints: [{key: $GUEST_LABEL, value: \"true\", effect: NoSchedule}]" >>"$node/kubelet.yaml"
  # One for itself, where the cluster's is one for all nodes of the host.
  API_ADDRESS=$GUEST_ADDRESS guest_render kube-proxy.yaml | sed "s/^hostnameOverride: .*/hostnameOverride: $GUEST_NODE/" >"$1/kube-proxy.yaml"
}

guest_render() {
  local template=$1
  shift
  STATE=$IN_GUEST_STATE RUN=$IN_GUEST_RUN render "$HERE/config/$template" "$@"
}

# guest_image: gives the guest, if it has not got it yet, the image of the workers of the
# operator that is installed. It travels on a disk: the file is written
# here, and read there past the guest's page cache.
guest_image() {
  local ref work size
  ref=$(deployed_image)
  if [ -z "$ref" ]; then
    say "[zfs]   no operator is installed; after \"make deploy\" run \"images\""
    return
  fi
  if guest_has_image "$ref"; then return; fi
  say "[zfs]   importing $ref"
  work=$GUEST/image.new
  rm -rf "$work"
  mkdir -p "$work/tree"
  export_image "$ref" "$work/all.tar"
  # Without what the guest has, which is most of it: the base.
  in_guest 60 ctr -n k8s.io content ls -q | sed 's,^\([^:]*\):,blobs/\1/,' >"$work/has"
  tar --extract --file "$work/all.tar" --directory "$work/tree" --exclude-from "$work/has"
  layer "$work/tree" "$work/image.tar"
  size=$(stat -c %s "$work/image.tar")
  ((size < $(stat -c %s "$GUEST/image"))) || die "$ref is larger than the disk that it travels on ($IMAGE_DISK_SIZE)"
  dd if="$work/image.tar" of="$GUEST/image" bs=1M conv=notrunc status=none
  rm -rf "$work"
  # ctr stops reading at the archive's end, which is not the disk's.
  # shellcheck disable=SC2016  # expanded in the guest
  in_guest 300 bash -c 'set -eo pipefail
    dd if=/dev/vde bs=1M count="$3" iflag=direct status=none | (ctr -n k8s.io images import - && cat >/dev/null)
    for old in $(ctr -n k8s.io images ls -q | grep "^$2:" | grep -vFx "$1"); do
      ctr -n k8s.io containers ls -q "image==$old" | grep -q . || ctr -n k8s.io images rm "$old"
    done' import "$ref" "${ref%:*}" $((size / 1024 / 1024 + 1)) >/dev/null || die "the guest could not import $ref"
}

# export_image REF FILE: as another node has it. Without --local, ctr may end before the last of the image is
# in the file.
export_image() {
  ctr_node "${NODES[0]}" images export --local "$2" "$1" || die "${NODES[0]} has no $1; run \"make deploy\""
}

# deployed_image: that of the workers, which the operator's arguments name. The operator itself
# does not run in the guest.
deployed_image() {
  kubectl -n storagebench-system get deployment -l app.kubernetes.io/name=storagebench,app.kubernetes.io/component=manager \
    -o 'jsonpath={range .items[*].spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}' --ignore-not-found |
    sed -n 's/^--worker-image=//p'
}
guest_has_image() { [ -n "$(in_guest 60 ctr -n k8s.io images ls -q "name==$1")" ]; }

# guest_joined BOOT: this boot's kubelet is ready, and answers the API server.
guest_joined() {
  [ "$(kubectl get node "$GUEST_NODE" -o 'jsonpath={.status.nodeInfo.bootID} {.status.conditions[?(@.type=="Ready")].status}')" = "$1 True" ] &&
    kubelet_answers "$GUEST_NODE"
}

# guest_leave: no node without a machine. Its Pods first, which nobody would stop.
guest_leave() {
  kubectl --request-timeout=10s delete pods --all-namespaces --field-selector "spec.nodeName=$GUEST_NODE" --force --grace-period=0 --wait=false &&
    kubectl --request-timeout=10s delete node "$GUEST_NODE" --ignore-not-found --timeout=20s
}

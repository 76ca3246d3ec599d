# What "guest VERB" does, from the parts.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

guest_help() {
  cat <<EOF2
test/zfs/guest VERB: a node with real ZFS for the local cluster (docs/how-to/zfs-node.md)

  build            kernel, ZFS, root file system and images, kept in the cache
  up               boot it and join the cluster as node $GUEST_NODE; after "kill", with the same disks
  kill             a power cut
  images           import the image of the installed operator's workers, after "make deploy"
  exec COMMAND...  run a command in it as root, at most 300 s
  status           what runs
  down             remove it, its node and its disks

STORAGEBENCH_CACHE is where builds are kept ($CACHE).
STORAGEBENCH_ZFS_ACCEL=tcg or kvm decides what is otherwise tried out.
EOF2
}

guest_prepare() {
  need_linux_root
  need_go
  image_names
}

guest_build() {
  local begin
  begin=$(now)
  guest_prepare
  guest_make
  echo "zfs-guest build: ok: $(<"$(kernel_dir)/versions"), $(du -shc "$(kernel_dir)" "$(root_dir)" "$(node_dir)" | tail -n 1 | cut -f1) in $CACHE/zfs ($(($(now) - begin)) s)"
}

guest_up() {
  local begin start booted boot
  begin=$(now)
  guest_prepare
  live || die "there is no cluster to join; run \"make cluster-up\" first"
  guest_make
  lock "$GUEST_LOCK"
  start=$(now)
  if alive zfs-guest; then
    say "[zfs]   the guest runs already"
  else
    guest_stop
    [ ! -e "$GUEST/tank1" ] || say "[zfs]   the disks of before"
    guest_disks
    guest_network_up
    guest_initrd
    say "[zfs]   booting ($(accelerator))"
  fi
  guest_boot
  booted=$(in_guest 60 cat /run/guest/booted) || die "the guest did not boot to its end; see $LOGS/console.log"
  say "        … $(($(now) - start)) s: $booted"
  boot=$(in_guest 30 cat /proc/sys/kernel/random/boot_id)
  guest_wait 240 "the node to be ready" guest_joined "$boot"
  guest_wait 300 "the guest's kube-proxy" in_guest 20 nft list table ip kube-proxy
  say "        … $(($(now) - start)) s: the node is ready"
  guest_image
  echo "zfs-guest up: ok: node $GUEST_NODE is ready ($(accelerator)), pool tank is $(in_guest 60 zpool list -H -o health tank) ($(($(now) - begin)) s)"
}

guest_images() {
  local image
  guest_prepare
  lock "$GUEST_LOCK"
  alive zfs-guest || die "the guest does not run; run \"up\" first"
  guest_image
  image=$(deployed_image)
  echo "zfs-guest images: ok: ${image:-nothing to import}"
}

guest_exec() {
  local status=0
  need_linux_root
  (($#)) || die "name a command"
  guest_booted || die "the guest has not booted"
  in_guest 300 "$@" || status=$?
  # What failed has said so.
  # shellcheck disable=SC2034  # of hack/cluster/lib/say.sh
  told=yes
  exit $status
}

guest_kill() {
  need_linux_root
  lock "$GUEST_LOCK"
  alive zfs-guest || die "the guest does not run"
  stop zfs-guest KILL
  echo "zfs-guest kill: ok: the power is cut; \"up\" boots the same disks"
}

guest_status() {
  local ready
  need_linux_root
  if ! alive zfs-guest; then
    if [ -e "$GUEST" ]; then
      echo "zfs-guest status: short: it does not run; its disks are in $GUEST"
    else
      echo "zfs-guest status: short: there is none; make one with \"up\""
    fi
    fail
  fi
  need_go
  guest_booted && in_guest 60 zpool status tank
  ready=$(kubectl --request-timeout=10s get node "$GUEST_NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' || true)
  if [ "$ready" != True ]; then
    echo "zfs-guest status: short: pid $(recorded_pid zfs-guest) ($(accelerator)), node $GUEST_NODE is not ready"
    fail
  fi
  echo "zfs-guest status: ok: pid $(recorded_pid zfs-guest) ($(accelerator)), node $GUEST_NODE is ready, console $LOGS/console.log"
}

guest_down() {
  local left
  need_linux_root
  lock "$GUEST_LOCK"
  guest_stop
  guest_network_down
  # A cluster that is dead or on its way down has forgotten the node already.
  if alive kube-apiserver; then
    need_go
    left=$(guest_leave 2>&1) || say "        the API server did not forget the node $GUEST_NODE: $left"
  fi
  rm -f "$PKI/$GUEST_NODE".*
  rm -rf --one-file-system "$GUEST"
  guest_report || fail
}

# guest_report: from what is there now.
guest_report() {
  local processes links files=0 verdict=ok
  processes=$(guest_processes | count)
  links=$(guest_links | count)
  [ ! -e "$GUEST" ] || files=1
  ((processes + links + files == 0)) || verdict=short
  echo "zfs-guest down: $verdict: $processes processes, $links interfaces, $files directories left"
  [ $verdict = ok ]
}

# What the guest is made of: kernel with ZFS, root file system, the node's images. Each is a directory of the cache, named after everything that goes into
# it, made under a lock and renamed into place when complete.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

# The cluster's programs that the guest runs, and the tool that makes images.
GUEST_COMPONENTS=(kubernetes containerd cni imagetool)

# cached NAME INPUT...: its directory, whether it exists or not.
cached() {
  local name=$1
  shift
  echo "$CACHE/zfs/$name-$(printf '%s\n' "$GUEST_RELEASE" "$@" | short_hash)"
}

kernel_dir() { cached kernel "${BUILDER_PACKAGES[*]}" "${BOOT_MODULES[*]}" "$(cat "$ZFS_HERE"/build/*)"; }
root_dir() {
  cached root "$(kernel_dir)" "${GUEST_PACKAGES[*]}" "$(declare -f root_files make_root)" \
    "$(built kubernetes)" "$(built containerd)" "$(built cni)" "$(cat "$ZFS_HERE"/build/*)"
}
node_dir() { cached node "$BASE_IMAGE" "$PAUSE_IMAGE" "$(declare -f make_node_tree store_import)" "$(built containerd)"; }

# make_once DIRECTORY WHAT COMMAND...: runs COMMAND TEMPORARY-DIRECTORY unless it is there.
make_once() (
  local dir=$1 what=$2 name begin temporary log
  shift 2
  name=$(basename "$dir")
  log=$CACHE/logs/zfs-${name%-*}.log
  if [ -d "$dir" ]; then
    say "[zfs]   $what: cached"
    return
  fi
  mkdir -p "$CACHE/zfs" "$CACHE/logs"
  exec 8>"$CACHE/zfs/.${name%-*}.lock"
  flock -w 3600 8 || die "another build of the same still runs after an hour; end it"
  [ ! -d "$dir" ] || return 0
  # Of a build that was interrupted.
  rm -rf --one-file-system "$CACHE/zfs/.${name%-*}."??????
  say "[zfs]   $what …"
  begin=$(now)
  temporary=$(mktemp -d "$CACHE/zfs/.${name%-*}.XXXXXX")
  chmod 755 "$temporary"
  # A process of its own: "set -e" does not hold on the left of a "||".
  (set -e; "$@" "$temporary") >"$log" 2>&1 8>&- 9>&- &
  if ! wait $!; then
    rm -rf --one-file-system "$temporary"
    say "zfs-guest: not built: $what; the end of $log:"
    tail -n 15 "$log" >&2
    return 1
  fi
  mv -T "$temporary" "$dir"
  say "        … $(($(now) - begin)) s"
)

# guest_sources FILE: apt sources of the guest's release, wherever the host's own
# mirror of Debian is.
guest_sources() {
  local mirror security
  mirror=$(debian_site Debian)
  [ -n "$mirror" ] || die "apt has no source of Debian, and the guest is made of its packages"
  {
    echo "deb $mirror $GUEST_RELEASE main contrib"
    echo "deb $mirror $GUEST_RELEASE-backports main contrib"
    security=$(debian_site Debian-Security)
    [ -z "$security" ] || echo "deb $security $GUEST_RELEASE-security main contrib"
  } >"$1"
}

# debian_site LABEL: where the host gets the archive of that label.
debian_site() {
  # shellcheck disable=SC2016  # apt's own placeholders
  apt-get indextargets --format '$(LABEL) $(ORIGIN) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    awk -v label="$1" '$1 == label && $2 == "Debian" { print $3; exit }'
}

# bootstrap TREE PACKAGES OPTION...: a Debian with ZFS's packages from backports.
# mmdebstrap unpacks in its working directory as another user: it needs /tmp. What it
# mounts is seen by nobody else, and goes with it even if it is killed.
bootstrap() {
  local tree=$1 packages=$2 sources
  shift 2
  sources=$(mktemp)
  guest_sources "$sources"
  # shellcheck disable=SC2016  # expanded by mmdebstrap's shell
  (cd /tmp && unshare --mount --propagation private mmdebstrap --mode=root --include="${packages// /,}" \
    --setup-hook="install -Dm644 '$ZFS_HERE/build/zfs.pref' \"\$1/etc/apt/preferences.d/zfs\"" \
    "$@" "$GUEST_RELEASE" "$tree" "$sources")
  rm -f "$sources"
}

make_kernel() {
  bootstrap "$1/tree" "${BUILDER_PACKAGES[*]}" --variant=apt --customize-hook="'$ZFS_HERE/build/kernel' \"\$1\" ${BOOT_MODULES[*]}"
  mv "$1/tree/out"/* "$1"
  rm -rf --one-file-system "$1/tree"
}

make_root() {
  local tree=$1/tree options=() path
  for path in "${UNWANTED[@]}"; do options+=(--dpkgopt="path-exclude=$path"); done
  bootstrap "$tree" "${GUEST_PACKAGES[*]}" --variant=essential "${options[@]}"
  root_files "$tree"
  file_system "$tree" "$1/root.ext4" 64 -O ^has_journal
  rm -rf --one-file-system "$tree"
}

# root_files TREE: what is in no package.
root_files() {
  local tree=$1
  tar --extract --file "$(kernel_dir)/modules.tar" --directory "$tree/usr"
  install -m 755 "$(built kubernetes)/kubernetes" "$(built containerd)"/* "$tree/usr/local/bin"
  ln -s kubernetes "$tree/usr/local/bin/kubelet"
  ln -s kubernetes "$tree/usr/local/bin/kube-proxy"
  install -D -t "$tree/opt/cni/bin" "$(built cni)"/*
  ln -sf /bin/busybox "$tree/sbin/init"
  # ZFS takes a pool whose host has another ID now for one that is in use elsewhere.
  printf '\x5a\x46\x53\x01' >"$tree/etc/hostid"
  mkdir -p "$tree"/{tank,var/lib/node,var/lib/kubelet,var/lib/cni,var/lib/storagebench,var/log/pods}
}

# file_system TREE FILE MIB-OR-SIZE OPTION...: an ext4 of the tree, so much larger, or so large.
file_system() {
  local tree=$1 file=$2 size=$3
  shift 3
  case $size in
    *[A-Z]) ;;
    *) size=$(($(du -sm --apparent-size "$tree" | cut -f1) * 5 / 4 + size))M ;;
  esac
  truncate -s "$size" "$file"
  mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "$@" -d "$tree" "$file"
}

# make_node_tree: what the node's disk will hold, its images above all.
make_node_tree() {
  mkdir -p "$1/tree/$GUEST_NODE/cni"
  store_import "$1/tree" "$(image_file "$PAUSE_IMAGE")" "$(image_file "$BASE_IMAGE")"
}

# store_import TREE ARCHIVE...: a containerd of the host's imports images into what
# will be the guest's store, at the host's speed. A process of its own, so that
# containerd ends with it.
store_import() (
  tree=$1
  shift
  run=$(mktemp -d)
  config=$tree/containerd.toml
  STATE=$tree RUN=$run render "$HERE/config/containerd.toml" NODE="$GUEST_NODE" CNI_BIN=/nonexistent PAUSE_IMAGE="$PAUSE_IMAGE" >"$config"
  PATH=$(built containerd):$PATH "$(program containerd containerd)" --config "$config" >"$run/log" 2>&1 8>&- 9>&- &
  pid=$!
  trap 'kill -KILL "$pid" 2>/dev/null || true; rm -rf "$run"' EXIT
  wait_for 60 "containerd to start" store_ctr "$run" version || {
    tail "$run/log" >&2
    exit 1
  }
  for archive in "$@"; do store_ctr "$run" images import "$archive" || exit 1; done
  kill -TERM "$pid"
  wait_for 20 "containerd to end" gone "$pid"
  rm "$config"
)

store_ctr() {
  local run=$1
  shift
  CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$(program containerd ctr)" --address "$run/$GUEST_NODE/containerd.sock" --namespace k8s.io "$@"
}

# guest_make: all of it.
guest_make() {
  [ "$(uname -m)" = x86_64 ] || die "the guest is for x86_64 only"
  "$CLONE/hack/packages" "${HOST_PACKAGES[@]}" || die "the guest cannot be built without them"
  need_packages
  # First, because it needs nothing of the rest, which a cluster builds too.
  make_once "$(kernel_dir)" "kernel and ZFS modules (about 5 min)" make_kernel
  build_all "${GUEST_COMPONENTS[@]}"
  base_image "[base]"
  base_image_file
  pause_program
  single_program_image "$PAUSE_IMAGE" pause "$CACHE/images/pause-${PAUSE_IMAGE##*:}" /pause
  make_once "$(root_dir)" "root file system (about 1 min)" make_root
  make_once "$(node_dir)" "the node's images (about 10 s)" make_node_tree
}

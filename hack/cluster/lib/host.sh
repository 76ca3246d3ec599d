# What the machine must have: Linux, root, Go, Debian packages, kernel modules.
# shellcheck shell=bash

need_linux_root() {
  [ "$(uname -s)" = Linux ] || die "this cluster needs Linux (namespaces, loop devices); to use kind, k3d or another cluster, set CLUSTER=current"
  [ "$(id -u)" = 0 ] || die "run this as root (sudo make cluster-up), because it creates mounts, bridges and loop devices; to use another cluster, set CLUSTER=current"
}

need_go() {
  local dir
  if ! command -v go >/dev/null; then
    for dir in /usr/local/go/bin /usr/lib/go-*/bin "${HOME:-/root}/go/bin" "${HOME:-/root}"/sdk/go*/bin; do
      [ -x "$dir/go" ] && PATH=$dir:$PATH
    done
  fi
  command -v go >/dev/null || die "Go is not on PATH: install Go 1.26 or newer (with sudo: sudo env PATH=\"\$PATH\" make cluster-up)"
  # A Go before 1.21 cannot fetch the newer toolchain that go.mod asks for.
  GO_VERSION=$(cd "$HERE/build/kubernetes" && go env GOVERSION 2>&1) ||
    die "this Go cannot build Kubernetes: install Go 1.26 or newer, or allow it to fetch one (GOTOOLCHAIN=auto). go printed: $GO_VERSION"
}

# need_packages: installs what is missing of hack/cluster/packages.
need_packages() {
  local package program missing=() begin
  while read -r package program; do
    case $package in '' | '#'*) continue ;; esac
    if command -v dpkg-query >/dev/null; then
      dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
    elif [ "$program" != - ] && ! command -v "$program" >/dev/null; then
      missing+=("$program")
    fi
  done <"$HERE/packages"
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || die "these programs are missing: ${missing[*]}; install them (this machine has no apt-get to do it)"
  begin=$(now)
  say "        installing Debian packages: ${missing[*]}"
  install_packages "${missing[@]}" || die "apt-get could not install ${missing[*]}; see $CACHE/logs/apt.log"
  say "        … $(($(now) - begin)) s"
}

# install_packages NAME...: with the lists as they are if that works, because a
# fresh "apt-get update" takes longer than the rest.
install_packages() {
  mkdir -p "$CACHE/logs"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends)
  "${install[@]}" "$@" >"$CACHE/logs/apt.log" 2>&1 9>&- && return
  {
    apt-get update || true # a broken third-party list must not stop Debian's own
    "${install[@]}" "$@"
  } >>"$CACHE/logs/apt.log" 2>&1 9>&-
}

# load_modules: where the kernel has them as modules. A kernel that has them
# built in knows no module of that name, which is as good.
load_modules() {
  local module
  for module in overlay loop bridge br_netfilter veth nf_tables nf_conntrack xfs; do
    modprobe -q "$module" 2>/dev/null || true
  done
  grep -qw overlay /proc/filesystems || die "the kernel has no overlay file system (CONFIG_OVERLAY_FS)"
  [ -e /dev/loop-control ] || die "the kernel has no loop devices (/dev/loop-control is missing; CONFIG_BLK_DEV_LOOP)"
  nft list tables >/dev/null 2>&1 || die "the kernel has no nftables (CONFIG_NF_TABLES), which kube-proxy needs"
}

# Builds of pinned programs, cached outside the clone: a directory a build,
# named after everything that goes into it, made under a lock and renamed into
# place when complete. What is there is never built again.
# shellcheck shell=bash disable=SC2034,SC2153  # some variables belong to other parts

# One line a component: name, version, seconds on two cores, and where it comes
# from: a module of this repository (with the names its binary is linked as) or
# packages of a published module.
components() {
  cat <<EOF2
kubernetes $KUBERNETES_VERSION 320 module build/kubernetes kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl
etcd $ETCD_VERSION 25 module build/etcd
coredns $COREDNS_VERSION 50 module build/coredns
containerd $CONTAINERD_VERSION 50 package github.com/containerd/containerd/v2/cmd containerd containerd-shim-runc-v2 ctr
cni $CNI_PLUGINS_VERSION 5 package github.com/containernetworking/plugins/plugins main/bridge main/loopback ipam/host-local meta/portmap
minio $MINIO_VERSION 120 package github.com/minio minio
loop-provisioner here 10 module loop-provisioner
minio-setup here 15 module minio-setup
imagetool here 5 module ../image/imagetool
helm $HELM_VERSION 100 package helm.sh/helm/v4/cmd helm
crane $CRANE_VERSION 5 package github.com/google/go-containerregistry/cmd crane
kwok $KWOK_VERSION 90 package sigs.k8s.io/kwok/cmd kwok
EOF2
}

# The components of a cluster; the others are for "cluster tools".
CLUSTER_COMPONENTS=(kubernetes etcd containerd cni loop-provisioner imagetool coredns minio minio-setup)

ldflags() {
  case $1 in
    kubernetes) echo "-s -w -X k8s.io/component-base/version.gitVersion=$KUBERNETES_VERSION -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")" ;;
    *) echo "-s -w" ;;
  esac
}

component() { components | grep "^$1 " || die "there is no component \"$1\"; known: $(components | cut -d' ' -f1 | tr '\n' ' ')"; }

# built NAME: the directory of a component's programs, whether it exists or not.
built() {
  local line name version _ kind where rest inputs
  line=$(component "$1")
  # shellcheck disable=SC2034  # read fills all
  read -r name version _ kind where rest <<<"$line"
  inputs=$({
    echo "$rest $(ldflags "$name")"
    if [ "$kind" = module ]; then find "$HERE/$where" -maxdepth 1 \( -name "go.*" -o -name "*.go" ! -name "*_test.go" \) -print0 | sort -z | xargs -0 cat; fi
  } | sha256sum | cut -c1-10)
  echo "$CACHE/bin/$name-$version-$GO_VERSION-$(uname -m)-$inputs"
}

# build NAME LABEL: builds it unless it is cached.
build() (
  local name=$1 label=$2 version seconds kind where rest out begin temporary link
  out=$(built "$name")
  read -r _ version seconds kind where rest <<<"$(component "$name")"
  [ "$version" != here ] || version=
  if [ -d "$out" ]; then
    say "$label $name${version:+ $version}: cached"
    return 0
  fi
  mkdir -p "$CACHE/bin" "$CACHE/logs"
  # Two clones that start together build it once. In a subshell, so that the lock
  # goes with it; a daemon that inherited it would hold it for ever.
  exec 8>"$CACHE/bin/.$name.lock"
  flock -w 3600 8 || die "another build of the same still runs after an hour; end it"
  [ ! -d "$out" ] || return 0
  rm -rf "$CACHE/bin/.$name."?????? # of a build that was interrupted
  say "$label building $name${version:+ $version} (about $seconds s) …"
  begin=$(now)
  temporary=$(mktemp -d "$CACHE/bin/.$name.XXXXXX")
  chmod 755 "$temporary"
  if ! compile "$name" "$version" "$kind" "$where" "$rest" "$temporary" >"$CACHE/logs/build-$name.log" 2>&1 8>&- 9>&-; then
    rm -rf "$temporary"
    say "cluster: $name does not build; the end of $CACHE/logs/build-$name.log:"
    tail -n 15 "$CACHE/logs/build-$name.log" >&2
    return 1
  fi
  if [ "$kind" = module ]; then
    for link in $rest; do ln -s "$name" "$temporary/$link"; done
  fi
  mv -T "$temporary" "$out"
  say "        … $name: $(($(now) - begin)) s"
)

compile() {
  local name=$1 version=$2 kind=$3 where=$4 programs=$5 out=$6 program packages=()
  # Not what the caller's shell happens to have set. Debug information is an eighth of
  # the compiler's work, and the linker drops it.
  export CGO_ENABLED=0 GOFLAGS='-trimpath -gcflags=all=-dwarf=false' GOWORK=off
  unset GOOS GOARCH
  if [ "$kind" = module ]; then
    cd "$HERE/$where" || return
    go build -mod=readonly -buildvcs=false -ldflags "$(ldflags "$name")" -o "$out/$name" .
  else
    for program in $programs; do packages+=("$where/$program@$version"); done
    cd / || return
    GOBIN=$out go install -buildvcs=false -ldflags "$(ldflags "$name")" "${packages[@]}"
  fi
}

# build_all NAME...: two at a time. The compiler uses both cores by itself, but
# linking Kubernetes takes one core for half a minute.
build_all() {
  local name i=0 failed=0 lanes=()
  for name in "$@"; do
    i=$((i + 1))
    if ((${#lanes[@]} == 2)); then
      lane_free || failed=1
    fi
    ((failed == 0)) || break
    build "$name" "[$i/$#]" &
    lanes+=($!)
  done
  while ((failed == 0 && ${#lanes[@]})); do lane_free || failed=1; done
  if ((failed)); then
    for name in "${lanes[@]}"; do kill_tree "$name"; done
    die "a build failed (see above); the machine must reach a Go module proxy (go env GOPROXY)"
  fi
}

# lane_free: waits for one of build_all's lanes, and has its result.
lane_free() {
  local done_pid='' result=0 left=() pid
  wait -n -p done_pid "${lanes[@]}" || result=$?
  for pid in "${lanes[@]}"; do [ "$pid" = "$done_pid" ] || left+=("$pid"); done
  lanes=("${left[@]}")
  return "$result"
}

kill_tree() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do kill_tree "$child"; done
  kill "$1" 2>/dev/null || true
}

# program NAME PROGRAM: the path of a built program.
program() { echo "$(built "$1")/$2"; }

# link_tools PROGRAM...: links them into the clone's bin directory.
link_tools() {
  local tool name
  mkdir -p "$LOCAL/bin"
  for tool in "$@"; do
    case $tool in
      kubectl | kube-controller-manager) name=kubernetes ;;
      ctr) name=containerd ;;
      *) name=$tool ;;
    esac
    ln -sfn "$(program "$name" "$tool")" "$LOCAL/bin/$tool"
  done
  hand_over
}

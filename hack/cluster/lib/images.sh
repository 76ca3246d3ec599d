# Images without a registry: layers are tar files, imagetool makes images of
# them, and every node's containerd imports them.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

PACKAGES=$CLONE/hack/image/packages
# What the base image leaves out: it is for programs, not for readers.
UNWANTED=(/usr/share/man/\* /usr/share/doc/\* /usr/share/locale/\* /usr/share/info/\* /usr/share/lintian/\*)

SLIM=$CLONE/hack/image/slim

package_list() { sed -E 's/#.*//' "$PACKAGES" | tr -s ' \n' '\n' | sed '/^$/d' | LC_ALL=C sort -u; }

short_hash() { sha256sum | cut -c1-12; }

# Names of the images that the cluster itself needs. Each name says what is in it.
image_names() {
  PAUSE_IMAGE=storagebench.io/cluster/pause:$(short_hash <"$HERE/build/pause.c")
  COREDNS_IMAGE=storagebench.io/cluster/coredns:$COREDNS_VERSION
  MINIO_IMAGE=storagebench.io/cluster/minio:${MINIO_VERSION##*-}
  BASE_HASH=$({ package_list; cat "$SLIM"; echo "${UNWANTED[*]}"; debian_codename; uname -m; } | short_hash)
  BASE_IMAGE=storagebench.io/base:$BASE_HASH
}

debian_codename() {
  local VERSION_CODENAME='' ID=''
  # shellcheck source=/dev/null
  [ ! -r /etc/os-release ] || . /etc/os-release
  if [ "$ID" = debian ]; then echo "$VERSION_CODENAME"; else echo bookworm; fi
}

# system_images: writes the cluster's own images to the cache.
system_images() {
  mkdir -p "$CACHE/images" "$CACHE/logs"
  image_names
  pause_program || return 1
  single_program_image "$PAUSE_IMAGE" pause "$CACHE/images/pause-${PAUSE_IMAGE##*:}" /pause
  single_program_image "$COREDNS_IMAGE" coredns "$(program coredns coredns)" /coredns
  single_program_image "$MINIO_IMAGE" minio "$(program minio minio)" /minio
}

# The process that holds a Pod's namespaces. Static, because its image is empty.
pause_program() {
  local out=$CACHE/images/pause-${PAUSE_IMAGE##*:}
  [ -x "$out" ] && return
  gcc -Os -static -o "$out.new" "$HERE/build/pause.c" && strip "$out.new" && mv "$out.new" "$out"
}

image_file() { echo "$CACHE/images/$(tr '/:' '__' <<<"$1").tar"; }

# single_program_image REF NAME PROGRAM PATH-IN-IMAGE
single_program_image() {
  local file tree
  file=$(image_file "$1")
  [ ! -e "$file" ] || return 0
  tree=$(mktemp -d "$CACHE/images/.tree.XXXXXX")
  chmod 755 "$tree"
  mkdir -p "$tree/root/tmp"
  chmod 1777 "$tree/root/tmp"
  install -m 755 "$3" "$tree/root$4"
  layer "$tree/root" "$tree/layer.tar"
  "$(program imagetool imagetool)" --ref "$1" --layer "$tree/layer.tar" --entrypoint "$4" --user 65532:65532 --output "$file"
  rm -rf "$tree"
}

# layer DIRECTORY TAR: the same files give the same bytes.
layer() {
  tar --create --file "$2" --directory "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu .
}

# base_image: a Debian with the packages of hack/image/packages. Downloads, so
# it runs beside the compilers.
base_image() (
  local dir=$CACHE/images/base-$BASE_HASH label=$1 begin temporary options=() path sources
  if [ -d "$dir" ]; then
    say "$label base image ($(package_list | tr '\n' ' ')): cached"
    return
  fi
  mkdir -p "$CACHE/images" "$CACHE/logs"
  exec 8>"$CACHE/images/.base.lock"
  flock -w 3600 8 || die "another build of the same still runs after an hour; end it"
  [ ! -d "$dir" ] || return 0
  rm -rf "$CACHE/images/.base."?????? # of a run that was interrupted
  say "$label base image from Debian: $(package_list | tr '\n' ' ')(about 30 s) …"
  begin=$(now)
  for path in "${UNWANTED[@]}"; do options+=(--dpkgopt="path-exclude=$path"); done
  temporary=$(mktemp -d "$CACHE/images/.base.XXXXXX")
  sources=$temporary/sources.list
  debian_sources >"$sources"
  # mmdebstrap unpacks in its working directory as another user: it needs /tmp.
  if ! SOURCE_DATE_EPOCH=0 mmdebstrap --variant=essential --mode=root --include="$(package_list | paste -sd,)" \
    "${options[@]}" --customize-hook="'$SLIM' \"\$1\"" "$(debian_codename)" "$temporary/rootfs.tar" "$sources" >"$CACHE/logs/base-image.log" 2>&1 8>&- 9>&-; then
    rm -rf "$temporary"
    say "cluster: the base image does not build; the end of $CACHE/logs/base-image.log:"
    tail -n 15 "$CACHE/logs/base-image.log" >&2
    return 1
  fi
  rm -f "$sources"
  mv -T "$temporary" "$dir"
  say "        … base image: $(($(now) - begin)) s"
)

# debian_sources: the host's own sources of this release, wherever its mirror
# is, without those of other vendors.
debian_sources() {
  local codename found
  codename=$(debian_codename)
  # shellcheck disable=SC2016  # apt's own placeholders
  found=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    grep -E " $codename(-updates|-security)? main\$" | sort -u || true)
  if [ -n "$found" ]; then
    echo "$found"
  else
    die "apt has no source of Debian $codename, whose packages the base image needs; add one"
  fi
}

# base_image_file: the base alone, as an image; the nodes need its layer before
# the project's image, which is shipped without it.
base_image_file() {
  local file
  file=$(image_file "$BASE_IMAGE")
  [ -e "$file" ] || "$(program imagetool imagetool)" --ref "$BASE_IMAGE" --layer "$CACHE/images/base-$BASE_HASH/rootfs.tar" --output "$file"
}

has_image() { ctr_node "$1" images ls -q "name==$2" | grep -q .; }

# import NODE REF [FILE]: unless the node has it.
import() {
  local node=$1 ref=$2 file=${3:-}
  if has_image "$node" "$ref"; then return; fi
  ctr_node "$node" images import "${file:-$(image_file "$ref")}" >/dev/null ||
    die "$node could not import $ref; see $LOGS/containerd-$node.log"
}

import_system_images() {
  local node=$1 ref refs=("$PAUSE_IMAGE" "$BASE_IMAGE")
  # DNS and the object store stay on the first nodes (hack/cluster/manifests).
  [[ " ${NODES[*]:0:LEAST_NODES} " != *" $node "* ]] || refs+=("$COREDNS_IMAGE" "$MINIO_IMAGE")
  for ref in "${refs[@]}"; do import "$node" "$ref"; done
}

# project_image: builds the project's programs, and imports the images where they are not
# yet. The tags are hashes of the content: a changed program is a new image.
project_image() {
  # The list of packages may have changed since "up".
  if [ ! -e "$(image_file "$BASE_IMAGE")" ]; then
    base_image "[base]" || die "the base image does not build (see above)"
    base_image_file
  fi
  project_layers || die "the project's programs do not build (see above)"
  project_import
}

# project_layers: the programs, as a tar for each image. They stay in the clone, so that the
# linker has nothing to do when nothing changed. SOURCE is another checkout to build them of:
# an older release, which had one image with both programs.
project_layers() {
  local work=$LOCAL/build
  if [ -n "$SOURCE" ]; then
    project_layer "$LOCAL/build-other" ./cmd/manager ./cmd/storagebench
    return
  fi
  project_layer "$work/worker" ./cmd/storagebench || return 1
  # The operator speaks TLS to object stores; the Dockerfile takes the same file of Debian's.
  mkdir -p "$work/manager/root/etc/ssl/certs"
  tar --extract --to-stdout --file "$CACHE/images/base-$BASE_HASH/rootfs.tar" ./etc/ssl/certs/ca-certificates.crt \
    >"$work/manager/root/etc/ssl/certs/ca-certificates.crt" &&
    project_layer "$work/manager" ./cmd/manager
}

# project_layer DIRECTORY PACKAGE...: writes DIRECTORY/layer.tar.
project_layer() {
  local work=$1
  shift
  (cd "${SOURCE:-$CLONE}" && "$CLONE/hack/build" "$work/root/usr/local/bin" "$@") 9>&- && layer "$work/root" "$work/layer.tar"
}

project_import() {
  local begin ref
  begin=$(now)
  if [ -n "$SOURCE" ]; then
    project_import_one "$IMAGE_NAME" "$LOCAL/build-other" "$LOCAL/image-other" "$CACHE/images/base-$BASE_HASH/rootfs.tar"
  else
    project_import_one "$IMAGE_NAME" "$LOCAL/build/manager" "$LOCAL/image"
    project_import_one "$IMAGE_NAME-worker" "$LOCAL/build/worker" "$LOCAL/worker-image" "$CACHE/images/base-$BASE_HASH/rootfs.tar"
  fi
  hand_over
  say "        project images: $(cat "$LOCAL/image${SOURCE:+-other}") $([ -n "$SOURCE" ] || cat "$LOCAL/worker-image")($(($(now) - begin)) s)"
}

# project_import_one NAME DIRECTORY REFERENCE-FILE [BASE-LAYER]: makes an image of the
# directory's layer, above the base if there is one, and imports it on every node.
project_import_one() {
  local name=$1 work=$2 base=${4:-} hash ref node jobs=() job
  hash=$({ sha256sum <"$work/layer.tar"; [ -z "$base" ] || echo "$BASE_HASH"; } | short_hash)
  ref=$name:$hash
  for node in "${NODES[@]}"; do
    if ! alive "containerd-$node"; then
      say "        $node is stopped; run \"cluster images\" again when it is back"
    elif ! has_image "$node" "$ref"; then
      # Thin: without the base layer, which the node already has.
      [ -e "$work/$hash.tar" ] || "$(program imagetool imagetool)" --ref "$ref" --thin --user 65532:65532 \
        ${base:+--layer "$base"} --layer "$work/layer.tar" --output "$work/$hash.tar"
      {
        [ -z "$base" ] || import "$node" "$BASE_IMAGE"
        import "$node" "$ref" "$work/$hash.tar"
        # An older release comes beside the project's image, and does not replace it.
        [ -n "$SOURCE" ] || drop_older_images "$node" "$name" "$ref"
      } &
      jobs+=($!)
    fi
  done
  for job in "${jobs[@]}"; do wait "$job" || fail; done
  rm -f "$work/$hash.tar"
  echo "$ref" >"$3"
}

# drop_older_images NODE NAME REF: except those that a container still uses.
drop_older_images() {
  local old
  for old in $(ctr_node "$1" images ls -q | grep -E "^($2|${BASE_IMAGE%:*}):"); do
    case $old in "$3" | "$BASE_IMAGE") continue ;; esac
    ctr_node "$1" containers ls -q "image==$old" | grep -q . || ctr_node "$1" images rm "$old" >/dev/null
  done
}

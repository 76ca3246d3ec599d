# Removal of a cluster, live or dead. Everything is found by what it is, never
# by a number that may have been reused: processes by their record or their
# arguments, mounts by prefix, loop devices by backing file, interfaces by
# alias, cgroups by name.
# shellcheck shell=bash

# our_processes: pids of recorded daemons, of shims, and of what is in our cgroups.
our_processes() {
  local name node pid
  {
    for name in $(daemons "${ALL_NODES[@]}"); do recorded_pid "$name" || true; done
    for node in "${ALL_NODES[@]}"; do shims "$node"; done
    for pid in $(strays); do echo "$pid"; done
    cgroup_processes "$CGROUP"
  } | sort -un
}

# strays: daemons whose record is lost (the state directory was deleted).
strays() {
  local exe pid
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in
      */kubernetes-v*/kubernetes | */etcd-v*/etcd | */containerd-v*/containerd | */loop-provisioner-*/loop-provisioner)
        pid=${exe#/proc/}
        pid=${pid%/exe}
        if is_ours "$pid"; then
          # kubectl, too, is called with a path of ours.
          tr '\0' '\n' <"/proc/$pid/cmdline" | head -n 1 | grep -q '/kubectl$' || echo "$pid"
        fi
        ;;
    esac
  done
  return 0
}

# our_mounts: mount points under our directories, innermost first.
our_mounts() {
  awk -v state="$STATE/" -v run="$RUN/" 'index($5 "/", state) == 1 || index($5 "/", run) == 1 {print $5}' /proc/self/mountinfo |
    tac | while read -r path; do printf '%b\n' "$path"; done
}

# our_loops: devices whose file is ours, and before each those on top of it.
our_loops() {
  local device file
  while read -r device file; do
    [[ $file == "$STATE"/* ]] || continue
    uppers "$device"
    echo "$device"
  done <<<"$(losetup -n -l -O NAME,BACK-FILE 2>/dev/null)"
}

# uppers DEVICE: loop devices on top of one; a kubelet holds a raw volume so.
# Their backing file is the lower device's node, under a name of the kubelet's:
# the inode tells.
uppers() {
  local below name number inode
  below=$(stat -c '%Hd:%Ld %i' "$1" 2>/dev/null) || return 0
  while read -r name number inode; do
    if [ "$number $inode" = "$below" ]; then echo "$name"; fi
  done <<<"$(losetup -n -l -O NAME,BACK-MAJ:MIN,BACK-INO 2>/dev/null)"
}

# detach_uppers NODE: those over the volumes of one node.
detach_uppers() {
  local device file upper left=0
  while read -r device file; do
    [[ $file == "$STATE/volumes/$1/"* ]] || continue
    for upper in $(uppers "$device"); do
      losetup --detach "$upper" 2>/dev/null || true
      left=1
    done
  done <<<"$(losetup -n -l -O NAME,BACK-FILE 2>/dev/null)"
  [ $left = 0 ]
}

our_cgroups() {
  local root
  for root in $(cgroup_roots); do
    [ ! -d "$root/$CGROUP" ] || find "$root/$CGROUP" -depth -type d
  done
}

remains() {
  [ -e "$STATE" ] || [ -e "$RUN" ] || [ -n "$(our_links)$(our_cgroups)$(our_loops)$(our_processes)" ]
}

kill_everything() {
  local pids
  # Those that restart or keep others first.
  for name in "${ALL_NODES[@]/#/kubelet-}" "${ALL_NODES[@]/#/containerd-}"; do stop "$name" KILL; done
  pids=$(our_processes)
  # shellcheck disable=SC2086  # numbers
  [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
  [ -z "$(our_processes)" ]
}

unmount_everything() {
  local path
  for path in $(our_mounts); do umount "$path" 2>/dev/null || true; done
  [ -z "$(our_mounts)" ]
}

detach_loops() {
  local device
  for device in $(our_loops); do losetup --detach "$device" 2>/dev/null || true; done
  [ -z "$(our_loops)" ]
}

remove_cgroups() {
  local path
  for path in $(our_cgroups); do rmdir "$path" 2>/dev/null || true; done
  [ -z "$(our_cgroups)" ]
}

clean() {
  local directory
  # The node with ZFS is a guest of this cluster; if it is dead, its files tell.
  if [ -e "$STATE/zfs" ] && [ -x "$CLONE/test/zfs/guest" ]; then "$CLONE/test/zfs/guest" down >&2 9>&- || true; fi
  # The namespaces' mounts and devices are free only when no process is left.
  wait_for 30 "the cluster's processes to end" kill_everything || true
  network_down
  wait_for 15 "its mounts to go" unmount_everything || {
    say "        unmounting the rest lazily: $(our_mounts | tr '\n' ' ')"
    for directory in $(our_mounts); do umount -l "$directory" || true; done
  }
  wait_for 15 "its loop devices to go" detach_loops || true
  wait_for 15 "its cgroups to go" remove_cgroups || true
  restore_sysctls
  if [ -e "$STATE/directories" ]; then
    # Mount points that were made on the host, if still empty.
    while read -r directory; do rmdir --ignore-fail-on-non-empty -p "$directory" 2>/dev/null || true; done <"$STATE/directories"
  fi
  # Never through a mount that is still there.
  rm -rf --one-file-system "$STATE" "$RUN" || true
}

count() { sed '/^$/d' | wc -l; }

# clean_report VERB: from what is there now.
clean_report() {
  local processes mounts loops links rules dirs=0 cgroups verdict=ok
  processes=$(our_processes | count)
  mounts=$(our_mounts | count)
  loops=$(our_loops | count)
  links=$(our_links | count)
  rules=$(($(our_tables | count) + $(our_forward_rules)))
  cgroups=$(our_cgroups | count)
  [ ! -e "$STATE" ] || dirs=$((dirs + 1))
  [ ! -e "$RUN" ] || dirs=$((dirs + 1))
  ((processes + mounts + loops + links + rules + cgroups + dirs == 0)) || verdict=short
  echo "$1: $verdict: $processes processes, $mounts mounts, $loops loop devices, $links interfaces, $rules rules left$(
    ((cgroups == 0)) || echo ", $cgroups cgroups"
    ((dirs == 0)) || echo ", $dirs directories"
  )"
  [ $verdict = ok ]
}

# The machine: its disks, QEMU, and a line into it that needs no network.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

# guest_disks: those that are not there yet. They survive "kill", not "down".
guest_disks() {
  local disk
  mkdir -p "$GUEST" "$LOGS"
  chmod 700 "$GUEST"
  # The same root file system until "down": what lies over it was written with it.
  [ -e "$GUEST/root" ] || root_dir >"$GUEST/root"
  [ -e "$(<"$GUEST/root")/root.ext4" ] || die "$(<"$GUEST/root"), which the guest was made from, is gone; take the guest down and up"
  [ -e "$GUEST/kernel" ] || kernel_dir >"$GUEST/kernel"
  [ -e "$GUEST/node.ext4" ] || node_disk
  for disk in tank0 tank1; do
    [ -e "$GUEST/$disk" ] || pool_disk "$GUEST/$disk"
  done
  # Two disks of one model, whose caches can be switched, each for a file system of its own.
  [ -e "$GUEST/scsi0" ] || ext4_disk "$GUEST/scsi0"
  [ -e "$GUEST/scsi1" ] || pool_disk "$GUEST/scsi1"
  [ -e "$GUEST/image" ] || truncate -s "$IMAGE_DISK_SIZE" "$GUEST/image"
}

# node_disk: what the guest writes outside of the pool, and its images.
node_disk() {
  local work=$GUEST/node.new ref
  rm -rf --one-file-system "$work"
  mkdir "$work"
  cp -a "$(node_dir)/tree" "$work/tree"
  ref=$(deployed_image)
  if [ -n "$ref" ]; then
    say "[zfs]   importing $ref"
    export_image "$ref" "$work/image.tar"
    store_import "$work/tree" "$work/image.tar" >/dev/null
  fi
  file_system "$work/tree" "$work/node.ext4" "$NODE_DISK_SIZE"
  mv "$work/node.ext4" "$GUEST/node.ext4"
  rm -rf --one-file-system "$work"
}

# pool_disk FILE: with a partition. Given a whole disk, zpool would label it and wait
# for udev, which the guest has not got.
pool_disk() {
  truncate -s "$POOL_DISK_SIZE" "$1.new"
  echo 'start=2048, type=6A898CC3-1DD2-11B2-99A6-080020736631' | sfdisk --quiet --label gpt "$1.new"
  mv "$1.new" "$1"
}

# ext4_disk FILE: all of it is one file system.
ext4_disk() {
  truncate -s "$POOL_DISK_SIZE" "$1.new"
  mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1.new"
  mv "$1.new" "$1"
}

# accelerator: kvm if it runs a guest, which a /dev/kvm that opens does not promise.
accelerator() {
  if [ ! -e "$GUEST/accelerator" ]; then
    if [ -n "${STORAGEBENCH_ZFS_ACCEL:-}" ]; then
      echo "$STORAGEBENCH_ZFS_ACCEL"
    elif kvm_runs; then
      echo kvm
    else
      echo tcg
    fi >"$GUEST/accelerator"
  fi
  cat "$GUEST/accelerator"
}

# kvm_runs: the kernel gets as far as missing its root file system.
kvm_runs() {
  [ -w /dev/kvm ] || return 1
  timeout --signal=KILL 20 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -accel kvm -cpu host -m 512M \
    -kernel "$(<"$GUEST/kernel")/vmlinuz" -append "console=ttyS0 panic=-1" -serial stdio </dev/null 2>&1 |
    grep 'Unable to mount root fs' >/dev/null
}

guest_start() {
  local accelerator cpu cpus=2 disk options=()
  accelerator=$(accelerator)
  case $accelerator in
    kvm) cpu=host accelerator=kvm ;;
    # ZFS tries all the ways it knows to sum and to code that the processor can do: half
    # of the boot's time with cpu=max. With a second processor QEMU 7.2 has been seen to go
    # on executing the breakpoint by which the kernel replaces an instruction, after it
    # was replaced: once in 140 boots, for ever. It saved a fifth of the time to join.
    *) cpu=qemu64 cpus=1 accelerator=tcg,thread=multi ;;
  esac
  # In this order: the guest's vda, vdb and so on. A flush of the pool's disks is
  # counted and reaches the host's page cache, which survives QEMU.
  for disk in "root:$(<"$GUEST/root")/root.ext4,readonly=on" "node:$GUEST/node.ext4" "tank0:$GUEST/tank0" "tank1:$GUEST/tank1" "image:$GUEST/image,readonly=on"; do
    options+=(-drive "if=none,id=${disk%%:*},format=raw,cache=writeback,discard=unmap,file=${disk#*:}"
      -device "virtio-blk-pci,drive=${disk%%:*},serial=${disk%%:*}")
  done
  # QEMU's SCSI disks do what MODE SELECT says: with the cache off, each write is followed by a flush.
  options+=(-device "virtio-scsi-pci,id=scsi")
  for disk in scsi0 scsi1; do
    options+=(-drive "if=none,id=$disk,format=raw,cache=writeback,discard=unmap,file=$GUEST/$disk" -device "scsi-hd,bus=scsi.0,drive=$disk,serial=$disk")
  done
  rm -f "$GUEST/agent.in" "$GUEST/agent.out"
  mkfifo "$GUEST/agent.in" "$GUEST/agent.out"
  [ ! -e "$LOGS/console.log" ] || mv "$LOGS/console.log" "$LOGS/console.log.1"
  daemon zfs-guest qemu-system-x86_64 -name storagebench-zfs -nodefaults -no-user-config -display none -no-reboot \
    -accel "$accelerator" -cpu "$cpu" -smp "$cpus" -m "$GUEST_MEMORY" "${options[@]}" -device virtio-rng-pci \
    -netdev "tap,id=net,ifname=$GUEST_TAP,script=no,downscript=no" -device "virtio-net-pci,netdev=net,mac=$GUEST_MAC,romfile=" \
    -chardev "file,id=console,path=$LOGS/console.log" -serial chardev:console \
    -chardev "pipe,id=agent,path=$GUEST/agent" -serial chardev:agent \
    -kernel "$(<"$GUEST/kernel")/vmlinuz" -initrd "$GUEST/initrd" \
    -append "console=ttyS0 panic=-1 mitigations=off"
}

# guest_booted: as far as its own scripts go.
guest_booted() { grep -q 'guest: the agent listens' "$LOGS/console.log" 2>/dev/null; }

# guest_processes: QEMU, and the containerd of store_import, whether recorded or not.
guest_processes() {
  local exe pid
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in
      */qemu-system-x86_64* | */containerd-v*/containerd)
        pid=${exe#/proc/}
        pid=${pid%/exe}
        if tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$GUEST/"; then echo "$pid"; fi
        ;;
    esac
  done
}

# guest_stop: and those whose record is lost, with the cluster that they were of.
guest_stop() {
  local pid
  stop zfs-guest KILL
  for pid in $(guest_processes); do
    kill -KILL "$pid" 2>/dev/null || true
    wait_for 10 "process $pid of a guest to end" gone "$pid"
  done
}

# in_guest SECONDS COMMAND...: runs it in the guest as root, with its output and its
# status. The guest's agent answers on a serial line, each line with the request's
# number, so that the rest of an answer that nobody waited for is passed over.
in_guest() (
  limit=$1
  shift
  alive zfs-guest || die "the guest does not run"
  exec 7>"$GUEST/agent.lock"
  flock -w 300 7 || die "another command in the guest does not end"
  exec 5<>"$GUEST/agent.out" 6<>"$GUEST/agent.in"
  number=$$-$RANDOM
  printf '%s %s %s\n' "$number" "$limit" "$(printf '%q ' "$@" | base64 -w0)" >&6
  # Longer than the guest waits.
  deadline=$(($(now) + limit + 10))
  begun=
  while (($(now) < deadline)); do
    if read -r -t 1 -u 5 line; then
      line=$begun$line
      begun=
      case $line in
        "$number = "*) exit "${line##* }" ;;
        "$number 1 "*) printf '%s\n' "${line#"$number 1 "}" ;;
        "$number 2 "*) printf '%s\n' "${line#"$number 2 "}" >&2 ;;
      esac
    else
      # A guest that waits for the processor may stop in the middle of a line.
      begun+=$line
      alive zfs-guest || die "the guest ended meanwhile"
    fi
  done
  die "no answer from the guest within $limit s; see $LOGS/console.log"
)

# guest_boot: until it has booted. A start that stays in the kernel is tried again; the
# disks are as before.
guest_boot() {
  local attempt
  for attempt in 1 2 3; do
    alive zfs-guest || guest_start
    if wait_for 150 "the guest to boot" still_good zfs-guest guest_booted && alive zfs-guest; then return; fi
    say "zfs-guest: start $attempt of 3 failed; the end of $LOGS/console.log:"
    tail -n 15 "$LOGS/console.log" "$LOGS/zfs-guest.log" >&2 || true
    stop zfs-guest KILL
  done
  die "the guest does not boot"
}

# guest_wait SECONDS WHAT COMMAND...: until it succeeds; fails when the guest ends.
guest_wait() {
  local limit=$1 what=$2
  shift 2
  if ! wait_for "$limit" "$what" still_good zfs-guest "$@" || ! alive zfs-guest; then
    say "zfs-guest: failed at: $what; the end of $LOGS/console.log:"
    tail -n 15 "$LOGS/console.log" >&2 || true
    fail
  fi
}

# Daemons: started detached, recorded by pid, start time and boot, so that a
# later run does not mistake another process with the same pid for its own.
# shellcheck shell=bash

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# start_time PID: in clock ticks since boot; with the pid it names one process.
start_time() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The second field is the program's name and may contain spaces.
  stat=${stat##*) }
  # shellcheck disable=SC2086  # fields
  set -- $stat
  [ "$1" != Z ] && echo "${20}"
}

# recorded_pid NAME: the pid of a recorded process that still is that process.
recorded_pid() {
  local pid ticks boot
  read -r pid ticks boot 2>/dev/null <"$RUN/processes/$1" || return 1
  [ "$boot" = "$(boot_id)" ] && [ "$(start_time "$pid")" = "$ticks" ] && { is_ours "$pid" || becomes_another "$pid"; } && echo "$pid"
}

# becomes_another PID: it is just becoming another program, and has no arguments for as long as the disk takes to
# read that one.
becomes_another() { [ -d "/proc/$1" ] && [ -z "$(tr -d '\0' <"/proc/$1/cmdline" 2>/dev/null | head -c 1)" ]; }

alive() { recorded_pid "$1" >/dev/null; }

# is_ours PID: every daemon here, and every containerd shim, has one of the two
# directories in an argument.
is_ours() {
  tr '\0' '\n' <"/proc/$1/cmdline" 2>/dev/null | grep -qE "(^|[=:/])($STATE|$RUN)(/|\$)"
}

# daemon NAME COMMAND...: starts it unless it runs.
daemon() {
  local name=$1 log=$LOGS/$1.log pid
  shift
  alive "$name" && return
  mkdir -p "$RUN/processes" "$LOGS"
  # A session of its own, so that it outlives make and the terminal. What else is open, of
  # ours or of whoever called us, may be a lock, which it would hold for ever.
  (
    close_others
    exec setsid "$@"
  ) </dev/null >>"$log" 2>&1 &
  pid=$!
  disown "$pid"
  echo "$pid $(start_time "$pid") $(boot_id)" >"$RUN/processes/$name"
  # Until it has become the daemon it is a copy of this script.
  wait_for 5 "$name to start" started "$pid"
}

# close_others: all descriptors of this shell but the first three.
close_others() {
  local fd
  for fd in "/proc/$BASHPID/fd"/*; do
    fd=${fd##*/}
    if ((fd > 2)); then exec {fd}>&-; fi
  done
}

started() { is_ours "$1" || gone "$1"; }

# ready NAME SECONDS COMMAND...: waits until COMMAND succeeds, and fails at once
# when the daemon has ended.
ready() {
  local name=$1 limit=$2
  shift 2
  if ! wait_for "$limit" "$name" still_good "$name" "$@" || ! alive "$name"; then
    say "cluster: $name did not start; the end of $LOGS/$name.log:"
    tail -n 15 "$LOGS/$name.log" | cut -c1-400 >&2
    fail
  fi
}

# still_good NAME COMMAND...: COMMAND succeeds, or there is nothing to wait for.
still_good() {
  local name=$1
  shift
  "$@" || ! alive "$name"
}

# stop NAME [SIGNAL]: ends a recorded process and waits until it is gone.
stop() {
  local pid
  if pid=$(recorded_pid "$1"); then
    kill "-${2:-TERM}" "$pid" 2>/dev/null || true
    if ! wait_for 5 "$1 to end" gone "$pid"; then
      kill -KILL "$pid" 2>/dev/null || true
      wait_for 10 "$1 to end" gone "$pid"
    fi
  fi
  rm -f "$RUN/processes/$1"
}

gone() { ! start_time "$1" >/dev/null; }

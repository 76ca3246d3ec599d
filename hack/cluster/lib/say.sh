# What the person at the terminal sees, and bounded waits. Progress goes to
# stderr; stdout carries results only (a directory, the last line of a verb).
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }

# Whether the reason of a failure was printed.
told=

fail() {
  told=yes
  exit 1
}

die() {
  printf 'cluster: %s\n' "$*" >&2
  fail
}

# on_exit CODE COMMAND: prints which command failed, if nothing else did.
on_exit() {
  [ "$1" = 0 ] || [ -n "$told" ] || say "cluster: stopped by a failure of: $2"
}

now() { date +%s; }

# wait_for SECONDS WHAT COMMAND...: until COMMAND succeeds. Fails, with COMMAND's
# last output, when the time is over.
wait_for() {
  local limit=$1 what=$2 begin announced=0 out
  shift 2
  begin=$(now)
  until out=$("$@" 2>&1); do
    local waited=$(($(now) - begin))
    if ((waited >= limit)); then
      say "cluster: waited $limit s for $what"
      [ -z "$out" ] || printf '    %s\n' "$out" | tail -n 5 >&2
      return 1
    fi
    if ((waited >= announced + 10)); then
      announced=$waited
      say "        still waiting for $what ($waited s of at most $limit s)"
    fi
    sleep 0.1
  done
}

# lock NAME: one run at a time. Descriptor 9 is closed for every daemon, and so is
# 8, that of builds: whoever inherits a lock holds it.
lock() {
  mkdir -p "$(dirname "$1")"
  exec 9>"$1"
  if ! flock -n 9; then
    say "        waiting for another run that holds $1 (at most 20 min)"
    flock -w 1200 9 || die "another run still holds $1; end it, or wait for it"
  fi
}

# hand_over: with sudo, the files in the clone belong to who called it.
hand_over() {
  [ -z "${SUDO_UID:-}" ] || chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$LOCAL"
}

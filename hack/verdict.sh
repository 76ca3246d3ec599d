# Sourced by scripts behind a target of make. However such a script ends, its last line is one
# "TARGET: ok: …" or "TARGET: short: …", and its exit status is that of the line:
#
#   verdict_for demo             from now on; "at_end" can be defined to tidy up
#   short "why it is not done"   ends the script
#   ok "what is done"            ends the script
#
# A script that stops in another way, as by a command that failed, falls short too.
# shellcheck shell=bash

verdict_target='' verdict='' verdict_command=''

verdict_for() {
  verdict_target=$1
  set -E # the trap is also for commands in functions
  trap 'verdict_command="line $LINENO: $BASH_COMMAND"' ERR
  trap 'verdict_end $?' EXIT
}

ok() {
  verdict="ok: $*"
  exit 0
}

short() {
  verdict="short: $*"
  exit 1
}

# at_end tidies up, before the last line is printed. A script may define its own.
at_end() { :; }

# verdict_end STATUS: prints the last line.
verdict_end() {
  local status=$1
  trap - EXIT ERR
  set +e
  [ -n "$verdict" ] || verdict="short: it stopped with exit code $status${verdict_command:+ at $verdict_command}"
  at_end || [[ $verdict == short:* ]] || verdict="short: it could not tidy up (see above), after $verdict"
  echo "$verdict_target: $verdict"
  # Without a number it would be the status that the script had before this.
  if [[ $verdict == ok:* ]]; then exit 0; fi
  exit 1
}

# Sourced by scripts that run several commands side by side (.ci/run, hack/test). Each is a
# stage: "stage" declares it, "run_stages" runs all of them and says, once a minute, what
# runs. The output of a stage goes to a file and is shown in one piece when the stage has
# ended. Every stage runs, also after one that failed.
# shellcheck shell=bash

stage_names=() stages_failed=() stage_times=()
# STAGE_TREE is in the environment of all that a stage starts, so its processes can be found, also after those
# that started them have ended. Where stages are in stages, it is a path.
declare -A stage_tree=()
declare -A stage_command=() stage_nice=() stage_after=() stage_pid=() stage_begin=() stage_state=()
stages_directory=$(mktemp -d) || exit
stages_cpu=0

# stage NAME NICE AFTER COMMAND...: it begins when those of AFTER, with commas between them,
# have ended ("-" for none). With 0 for NICE it goes first where stages compete for
# processors; one with 15 takes what the others leave.
stage() {
  local name=$1
  stage_names+=("$name")
  stage_nice[$name]=$2
  stage_after[$name]=${3#-}
  stage_command[$name]=$(printf '%q ' "${@:4}")
  stage_state[$name]=waiting
}

# run_stages UNTIL: ends every stage that still runs that many seconds after the
# script's start. It returns when all have ended, or early when the script is
# interrupted.
run_stages() {
  local until=$1 names name pid status ticker='' next=60
  # Acted upon below, where no stage is just being started.
  trap stages_interrupt INT TERM
  while names=$(next_stages) && [ -n "$names" ] && [ -z "$stages_interrupted" ]; do
    for name in $names; do [ "${stage_state[$name]}" = running ] || begin_stage "$name" "$until"; done
    # It also wakes a wait that began just after an interrupt.
    [ -n "$ticker" ] || { sleep 5 & ticker=$!; }
    status=0
    wait -n -p pid "${stage_pid[@]}" "$ticker" || status=$?
    [ "${pid:-}" != "$ticker" ] || ticker=
    for name in "${!stage_pid[@]}"; do
      [ "${stage_pid[$name]}" != "${pid:-}" ] || end_stage "$name" "$status"
    done
    ((SECONDS < next)) || { stages_progress && next=$((SECONDS + 60)); }
  done
  [ -z "$ticker" ] || kill "$ticker" 2>/dev/null
}

stages_interrupted=
stages_interrupt() {
  stages_interrupted=yes
  stages_failed+=(interrupted)
}

# next_stages: those that run, and those that may begin.
next_stages() {
  local name before ready
  for name in "${stage_names[@]}"; do
    case ${stage_state[$name]} in
      running) echo "$name" ;;
      waiting)
        ready=yes
        for before in ${stage_after[$name]//,/ }; do
          case ${stage_state[$before]} in waiting | running) ready= ;; esac
        done
        [ -z "$ready" ] || echo "$name"
        ;;
    esac
  done
}

begin_stage() {
  local name=$1 limit=$(($2 - SECONDS))
  # timeout takes 0 for no limit.
  ((limit > 0)) || limit=1
  stage_begin[$name]=$SECONDS
  stage_state[$name]=running
  stage_tree[$name]="${STAGE_TREE:-}/$$-$EPOCHSECONDS.$name;"
  # In the background, because bash handles no signal while it runs a command. Without exec, stage_pid is a
  # shell, which a signal ends and timeout never hears of.
  STAGE_TREE=${stage_tree[$name]} eval "exec nice -n ${stage_nice[$name]} timeout --kill-after=${STAGE_GRACE:-60}s $limit ${stage_command[$name]}" >"$stages_directory/$name" 2>&1 </dev/null &
  stage_pid[$name]=$!
  printf '[%4d s] %s begins: %s\n' "$SECONDS" "$name" "${stage_command[$name]}"
}

end_stage() {
  local name=$1 status=$2 seconds=$((SECONDS - stage_begin[$1])) cpu verdict=ok
  unset "stage_pid[$name]"
  # timeout ended it, or somebody else did: what has groups of its own may go on.
  case $status in 124 | 137 | 143) end_trees "$name" ;; esac
  stage_state[$name]=ended
  # Of all children that have ended; the difference is this one's.
  times >"$stages_directory/.times"
  cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] } printf "%d", sum }' "$stages_directory/.times")
  if ((status != 0)); then
    verdict=FAILED
    stages_failed+=("$name")
  fi
  printf '\n===== %s: %s\n' "$name" "${stage_command[$name]}"
  cat "$stages_directory/$name"
  ((status != 124)) || echo "stages: $name did not end in the time that was left"
  printf '===== %s: %s (%d s, %d s of processor time)\n\n' "$name" "$verdict" "$seconds" $((cpu - stages_cpu))
  stage_times+=("$(printf '%-14s %-6s %5d s, processors %5d s' "$name" "$verdict" "$seconds" $((cpu - stages_cpu)))")
  stages_cpu=$cpu
  [ -z "${STAGE_TIMES:-}" ] || printf '%d\t%s\n' "$seconds" "${STAGE_PREFIX:-}$name" >>"$STAGE_TIMES"
}

stages_progress() {
  local name line=
  for name in "${stage_names[@]}"; do
    [ "${stage_state[$name]}" != running ] ||
      line+="; $name ($((SECONDS - stage_begin[$name])) s): $(tail -n 1 "$stages_directory/$name" | cut -c1-100)"
  done
  [ -z "$line" ] || printf '[%4d s] %s\n' "$SECONDS" "${line#; }"
}

# stage_processes NAME...: the processes of stages. What has a session of its own is a daemon, such as the
# cluster's, which others end.
stage_processes() {
  local name patterns=()
  for name; do patterns+=(-e "STAGE_TREE=${stage_tree[$name]}"); done
  {
    grep -lszaF "${patterns[@]}" /proc/[0-9]*/environ | sed 's,^/proc/\([0-9]*\)/environ$,marked \1,'
    ps -eo pid=,ppid=,sid=,stat=
  } | awk -v self=$$ '
    $1 == "marked" { of_stage[$2] = 1; next }
    $4 !~ /^Z/ { parent[$1] = $2; session[$1] = $3 }
    END {
      # Also those that were given another environment.
      do {
        more = 0
        for (pid in parent) if (!(pid in of_stage) && parent[pid] in of_stage) { of_stage[pid] = 1; more = 1 }
      } while (more)
      for (pid in of_stage) if (session[pid] != "" && session[pid] == session[self]) print pid
    }'
}

# end_trees NAME...: waits for the end of all processes of stages that were told to end. It tells each of them
# after STAGE_ASK seconds (10), as not every script passes a signal on, and kills what is left after
# STAGE_GRACE seconds (60).
end_trees() {
  local left waited=0 ask=${STAGE_ASK:-10} grace=${STAGE_GRACE:-60}
  (($#)) || return 0
  while left=$(stage_processes "$@") && [ -n "$left" ]; do
    # shellcheck disable=SC2086  # a list
    if ((waited > grace + 5)); then
      echo "stages: these cannot be killed:" $left
      return
    elif ((waited >= grace)); then
      kill -KILL $left 2>/dev/null
    elif ((waited == ask)); then
      kill $left 2>/dev/null
    fi
    sleep 1
    waited=$((waited + 1))
  done
}

# end_stages: ends the stages that still run, and shows their output. It takes little more than STAGE_GRACE
# seconds.
end_stages() {
  local name
  # timeout passes it on to its group; those of stages in stages, and scripts that pass nothing on, are next.
  for name in "${!stage_pid[@]}"; do kill "${stage_pid[$name]}" 2>/dev/null; done
  end_trees "${!stage_pid[@]}"
  for name in "${!stage_pid[@]}"; do
    wait "${stage_pid[$name]}"
    end_stage "$name" 143
  done
  for name in "${stage_names[@]}"; do [ "${stage_state[$name]}" != waiting ] || stage_state[$name]=ended; done
  rm -rf "$stages_directory"
}

# slowest FILE COUNT: the longest of lines "SECONDS<tab>NAME".
slowest() { sort -rn "$1" | head -n "$2" | awk -F '\t' '{ printf "%7.1f s  %s\n", $1, $2 }'; }

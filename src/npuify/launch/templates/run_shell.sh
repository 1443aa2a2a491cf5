#!/usr/bin/env bash
# Starts @@{entry} once per card, in a loop of its own.
#
@@{usage}
#
# Arguments of this script are passed to the program, after those below. Each rank writes @@{logs}; the first one
# of this machine is shown. When a rank fails, or this script is stopped, all ranks of this machine are stopped.
# Written by npuify.
@@{settings}
export MASTER_ADDR MASTER_PORT
export WORLD_SIZE=$((NODES * CARDS)) LOCAL_WORLD_SIZE=$CARDS
@@{before_ranks}
processes=""    # leaders of the ranks' process groups
rank_of=()      # their ranks, by process
viewer=""

log_of() { # LOCAL_RANK
    echo "$LOG_DIR/@@{log_name}"
}

alive() { # does any rank still run?
    local process
    for process in $processes; do
        if kill -0 "$process" 2>/dev/null; then return 0; fi
    done
    return 1
}

# Stop all ranks: first with a request, after ten seconds by force; then everything that they have started and left behind.
stop() {
    local process
    trap '' INT TERM HUP
    for process in $processes; do kill -TERM -- "-$process" 2>/dev/null || true; done
    for _ in {1..20}; do
        alive || break
        sleep 0.5
    done
    for process in $processes; do kill -KILL -- "-$process" 2>/dev/null || true; done
    hide
}

hide() {
    if [[ -n $viewer ]]; then kill "$viewer" 2>/dev/null || true; fi
}

trap 'stop; exit 130' INT
trap 'stop; exit 143' TERM
trap 'stop; exit 129' HUP

for ((local_rank = 0; local_rank < CARDS; local_rank++)); do
    rank=$((NODE_RANK * CARDS + local_rank))
    log=$(log_of "$local_rank")
@@{for_rank}    # With job control each rank leads its own process group, which can be stopped as a whole.
    set -m
    RANK=$rank LOCAL_RANK=$local_rank GROUP_RANK=$NODE_RANK@@{extra_variables} \
        "$PYTHON" @@{module_flag}"${program[@]}" "$@" </dev/null >"$log" 2>&1 &
    set +m
    processes="$processes $!"
    rank_of[$!]=$rank
done

follow=(tail -n +1 -f)
if tail --version >/dev/null 2>&1; then follow+=("--pid=$$"); fi    # of GNU: it ends with this script, come what may
"${follow[@]}" "$(log_of 0)" &
viewer=$!
disown "$viewer"

running=$processes
@@{beside}while [[ -n $running ]]; do
    sleep 0.5
    still=""
    for process in $running; do
        if kill -0 "$process" 2>/dev/null; then
            still="$still $process"
            continue
        fi
        status=0
        wait "$process" || status=$?
        if ((status != 0)); then
            rank=${rank_of[$process]}
            local_rank=$((rank - NODE_RANK * CARDS))
            log=$(log_of "$local_rank")
            echo "${0##*/}: rank $rank failed with exit code $status; stopping the others. Its log is $log" >&2
            if ((local_rank > 0)); then tail -n 20 "$log" >&2; fi
            stop
            exit "$status"
        fi
    done
    running=$still
@@{watch}done
@@{ending}hide
echo "${0##*/}: all $CARDS ranks of this machine have ended; their logs are in $LOG_DIR" >&2

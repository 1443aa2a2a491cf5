set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd @@{to_folder}

# Each of these can also be set in the environment: CARDS=4 bash @@{script}
PYTHON=${PYTHON:-python3}
CARDS=${CARDS:-@@{cards}}    # of this machine; one process for each
NODES=${NODES:-@@{nodes}}    # how many machines there are
NODE_RANK=${NODE_RANK:-@@{node_rank}}    # this machine's number, from 0
MASTER_ADDR=${MASTER_ADDR:-@@{master}}    # the first machine
MASTER_PORT=${MASTER_PORT:-@@{port}}
LOG_DIR=${LOG_DIR:-@@{log_folder}}
@@{program}

fail() {
    echo "${0##*/}: $*" >&2
    exit 2
}

# How many cards programs see here; 0 if unknown.
cards_here() {
    local devices
    if [[ -n ${ASCEND_RT_VISIBLE_DEVICES:-} ]]; then
        IFS=, read -ra devices <<<"$ASCEND_RT_VISIBLE_DEVICES"
        echo "${#devices[@]}"
    else
        devices=(/dev/davinci[0-9]*)
        if [[ -e ${devices[0]} ]]; then echo "${#devices[@]}"; else echo 0; fi
    fi
}

for name in NODES NODE_RANK MASTER_PORT; do
    [[ ${!name} =~ ^(0|[1-9][0-9]*)$ ]] || fail "$name='${!name}' is not a number; see the head of this script"
done
((NODE_RANK < NODES)) || fail "NODE_RANK=$NODE_RANK, but the machines are numbered 0 to $((NODES - 1))"@@{visible}
seen=$(cards_here)
CARDS=${CARDS:-$seen}
[[ $CARDS =~ ^(0|[1-9][0-9]*)$ ]] || fail "CARDS='$CARDS' is not a number"
((CARDS > 0)) || fail "no card is seen here; say how many with CARDS="
((seen == 0 || CARDS <= seen)) || fail "CARDS=$CARDS, but programs see $seen cards here"
command -v "$PYTHON" >/dev/null || fail "there is no $PYTHON; name the Python to use with PYTHON="

if [[ -z ${NPUIFY_SIMULATE:-}${NPUIFY_SIMULATE_TENSORFLOW:-} ]]; then
    # shellcheck source=/dev/null
    source "$here/env.sh" ""
fi
export PYTHONUNBUFFERED=1    # logs are written at once
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}    # many processes share the cores
mkdir -p "$LOG_DIR"
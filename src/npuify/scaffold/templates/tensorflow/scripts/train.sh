#!/usr/bin/env bash
# Train on several cards of this machine:  scripts/train.sh 8 --epochs 10
# One process for each card; when one fails, the others are stopped. For several machines: npuify launch.
set -euo pipefail
cards="${1:?how many cards? scripts/train.sh 8}"
shift
cd "$(dirname "$0")/.."

# CANN's environment, if this shell does not have it yet; newer releases install into cann, older ones into ascend-toolkit.
if [ -z "${ASCEND_HOME_PATH:-}" ]; then
    for home in /usr/local/Ascend/cann /usr/local/Ascend/ascend-toolkit "$HOME/Ascend/cann" "$HOME/Ascend/ascend-toolkit"; do
        if [ -f "$home/set_env.sh" ]; then
            set +u # the script reads variables that may not be set
            # shellcheck disable=SC1091
            . "$home/set_env.sh"
            set -u
            break
        fi
    done
fi

export JOB_ID="${JOB_ID:-10087}"
if [ "$cards" -gt 1 ]; then
    if [ -n "${RANK_TABLE_FILE:-}" ]; then
        export RANK_SIZE="$cards"
    else
        # Without a rank table; the vendor documents this for Atlas training products and A2.
        export CM_CHIEF_IP="${CM_CHIEF_IP:-127.0.0.1}" CM_CHIEF_PORT="${CM_CHIEF_PORT:-6000}" CM_CHIEF_DEVICE=0
        export CM_WORKER_SIZE="$cards" CM_WORKER_IP="${CM_WORKER_IP:-127.0.0.1}"
    fi
fi
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
for ((card = 0; card < cards; card++)); do
    (
        export ASCEND_DEVICE_ID="$card"
        if [ "$cards" -gt 1 ] && [ -n "${RANK_TABLE_FILE:-}" ]; then export RANK_ID="$card"; fi
        exec python train.py "$@"
    ) &
    pids+=("$!")
done
for _ in "${pids[@]}"; do
    wait -n # the first that fails ends the script, and the trap the others
done

#!/usr/bin/env bash
# Train on several cards of this machine:  scripts/train.sh 8 --config configs/base.yaml
# On several machines, run it on each with NODES, NODE and MASTER_ADDR set:
#   NODES=2 NODE=0 MASTER_ADDR=10.0.0.1 scripts/train.sh 8
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

# One process per card; when one fails, torchrun stops the others and says which failed first.
exec torchrun \
    --nnodes "${NODES:-1}" --node_rank "${NODE:-0}" \
    --master_addr "${MASTER_ADDR:-127.0.0.1}" --master_port "${MASTER_PORT:-29500}" \
    --nproc_per_node "$cards" \
    train.py "$@"

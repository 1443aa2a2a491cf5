#!/usr/bin/env bash
# Serves @@{entry} with vLLM and its plug-in for NPUs.
#
@@{usage}
#
# Arguments of this script are passed to vllm serve, after those below. Its output also goes to logs/serve_N.log.
# The set that belongs together: @@{set}.
# Written by npuify.
@@{settings}
command -v "${VLLM:=vllm}" >/dev/null || fail "there is no $VLLM; install vllm and vllm-ascend, or name it with VLLM="
if [[ -z ${ASCEND_RT_VISIBLE_DEVICES:-} ]]; then
    ASCEND_RT_VISIBLE_DEVICES=$(seq -s, 0 "$((CARDS - 1))")
    export ASCEND_RT_VISIBLE_DEVICES
fi
# A process that has opened the NPU cannot be forked.
export VLLM_WORKER_MULTIPROC_METHOD=${VLLM_WORKER_MULTIPROC_METHOD:-spawn}
options=()
given=" ${program[*]} $* "
if [[ $given != *" --tensor-parallel-size"[=\ ]* && $given != *" -tp "* ]]; then
    options+=(--tensor-parallel-size "$CARDS")
fi
if ((NODES > 1)); then
    if [[ $given != *" --pipeline-parallel-size"[=\ ]* && $given != *" -pp "* ]]; then
        options+=(--pipeline-parallel-size "$NODES")
    fi
    options+=(--distributed-executor-backend mp --nnodes "$NODES" --node-rank "$NODE_RANK")
    options+=(--master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT")
    # Only the first machine answers requests.
    if ((NODE_RANK > 0)); then options+=(--headless); fi
fi
exec > >(tee "$LOG_DIR/serve_$NODE_RANK.log") 2>&1
exec "$VLLM" serve "${program[@]}" "${options[@]}" "$@"

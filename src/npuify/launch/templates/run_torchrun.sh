#!/usr/bin/env bash
# Starts @@{entry} once per card, by @@{title} (python -m @@{module}).
#
@@{usage}
#
# Arguments of this script are passed to the program, after those below. The logs of all ranks are in logs/; @@{shown}
# shown. When a rank fails, or this script is stopped, all ranks of this machine are stopped.
# Written by npuify.
@@{settings}
exec "$PYTHON" -m @@{module} @@{own_options}\
    --nnodes "$NODES" --node-rank "$NODE_RANK" --nproc-per-node "$CARDS" \
    --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT" \
    --log-dir "$LOG_DIR" --tee 3 @@{filter}\
    @@{module_flag}"${program[@]}" "$@"

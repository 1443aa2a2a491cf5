#!/usr/bin/env bash
# Starts @@{entry} once for each card, by @@{title} (python -m @@{module}).
#
@@{usage}
#
# Arguments of this script go to the program, behind those below. Logs of all ranks lie in logs/; @@{shown}
# shown. When a rank fails, or this script is stopped, all ranks of this machine are ended.
# Written by npuify.
@@{settings}
exec "$PYTHON" -m @@{module} @@{own_options}\
    --nnodes "$NODES" --node-rank "$NODE_RANK" --nproc-per-node "$CARDS" \
    --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT" \
    --log-dir "$LOG_DIR" --tee 3 @@{filter}\
    @@{module_flag}"${program[@]}" "$@"

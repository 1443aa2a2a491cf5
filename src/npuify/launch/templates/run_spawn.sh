#!/usr/bin/env bash
# Starts @@{entry} once per card, by torch.multiprocessing.spawn (in spawn_ranks.py beside this script).
#
@@{usage}
#
# Arguments of this script are passed to the program, after those below. Each rank writes logs/rank_N.log; the first one of this
# machine is shown. When a rank fails, or this script is stopped, all ranks of this machine are stopped.
# Written by npuify.
@@{settings}
exec "$PYTHON" "$here/spawn_ranks.py" \
    --nodes "$NODES" --node-rank "$NODE_RANK" --cards "$CARDS" \
    --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT" --log-dir "$LOG_DIR" \
    @@{module_flag}-- "${program[@]}" "$@"

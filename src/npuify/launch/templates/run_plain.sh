#!/usr/bin/env bash
# Starts @@{entry}, which starts a process for each card by itself (@@{spawns_at}).
#
@@{usage}
#
# Arguments of this script go to the program, behind those below. How many processes there are, the program decides:
# ASCEND_RT_VISIBLE_DEVICES limits the cards that it sees. What it prints is in logs/program.log too.
# Written by npuify.
@@{settings}
export MASTER_ADDR MASTER_PORT
if [[ -z ${ASCEND_RT_VISIBLE_DEVICES:-} ]]; then
    ASCEND_RT_VISIBLE_DEVICES=$(seq -s, 0 "$((CARDS - 1))")
    export ASCEND_RT_VISIBLE_DEVICES
fi
exec > >(tee "$LOG_DIR/program.log") 2>&1
exec "$PYTHON" @@{module_flag}"${program[@]}" "$@"

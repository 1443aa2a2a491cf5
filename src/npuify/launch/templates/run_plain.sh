#!/usr/bin/env bash
# Starts @@{entry}, which starts one process per card itself (@@{spawns_at}).
#
@@{usage}
#
# Arguments of this script are passed to the program, after those below. The program decides how many processes there are:
# ASCEND_RT_VISIBLE_DEVICES limits the cards that it sees. Its output also goes to logs/program.log.
# Written by npuify.
@@{settings}
export MASTER_ADDR MASTER_PORT
if [[ -z ${ASCEND_RT_VISIBLE_DEVICES:-} ]]; then
    ASCEND_RT_VISIBLE_DEVICES=$(seq -s, 0 "$((CARDS - 1))")
    export ASCEND_RT_VISIBLE_DEVICES
fi
exec > >(tee "$LOG_DIR/program.log") 2>&1
exec "$PYTHON" @@{module_flag}"${program[@]}" "$@"

# Beside the workers: the parameter server of this machine, which this script ends, and an evaluator, which gets the
# card that EVALUATOR names.
start_beside() { # TYPE INDEX CARD, the program's arguments
    local type=$1 index=$2 card=$3
    shift 3
    task=$(task_of "$type" "$index")
    set -m
    TF_CONFIG=$task DEVICE_ID=$card ASCEND_DEVICE_ID=$card \
        "$PYTHON" @@{module_flag}"${program[@]}" "$@" </dev/null >"$LOG_DIR/$type.log" 2>&1 &
    set +m
    processes="$processes $!"
}
start_beside ps "$NODE_RANK" 0 "$@"
server=$!
if [[ -n ${EVALUATOR:-} && $NODE_RANK == 0 ]]; then start_beside evaluator 0 "$EVALUATOR" "$@"; fi

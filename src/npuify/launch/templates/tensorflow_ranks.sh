
# The ranks: by a rank table where there is one, else by the CM variables. The adapter takes only one of both.
unset RANK_ID RANK_SIZE CM_WORKER_SIZE
if [[ -z ${RANK_TABLE_FILE:-} && -f $here/rank_table.json ]]; then RANK_TABLE_FILE=$here/rank_table.json; fi
own_address() { # of this machine, for the others and for its own ranks
    if [[ $NODES == 1 && $MASTER_ADDR != 127.0.0.1 ]]; then
        echo "$MASTER_ADDR"
    else
        hostname -I 2>/dev/null | cut -d ' ' -f 1
    fi
}
if ((WORLD_SIZE == 1)); then
    unset RANK_TABLE_FILE CM_CHIEF_IP
elif [[ -n ${RANK_TABLE_FILE:-} ]]; then
    unset CM_CHIEF_IP
    export RANK_TABLE_FILE RANK_SIZE=$WORLD_SIZE
else
    unset RANK_TABLE_FILE
    CM_WORKER_IP=${CM_WORKER_IP:-$(own_address)}
    if [[ $MASTER_ADDR == 127.0.0.1 ]]; then MASTER_ADDR=$CM_WORKER_IP; fi
    [[ -n $CM_WORKER_IP ]] || fail "this machine's address is not known; give it as CM_WORKER_IP"
    export CM_CHIEF_IP=$MASTER_ADDR CM_CHIEF_PORT=$MASTER_PORT CM_CHIEF_DEVICE=${CM_CHIEF_DEVICE:-0}
    export CM_WORKER_IP CM_WORKER_SIZE=$WORLD_SIZE
fi
export JOB_ID=${JOB_ID:-npuify}    # NPUEstimator wants one

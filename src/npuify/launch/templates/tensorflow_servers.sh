
# The cluster: a chief on the first card, a worker on each other one, a parameter server on each machine. They find
# each other by TF_CONFIG, and are no ranks.
unset RANK_ID RANK_SIZE RANK_TABLE_FILE CM_CHIEF_IP CM_WORKER_SIZE
IFS=, read -ra hosts <<<"${HOSTS:-$MASTER_ADDR}"
((${#hosts[@]} == NODES)) || fail "HOSTS has to name the $NODES machines, the first one first, with commas between"
servers="" workers=""
for host in "${hosts[@]}"; do
    servers="$servers, \"$host:$MASTER_PORT\""
    for ((card = 1; card <= CARDS; card++)); do workers="$workers, \"$host:$((MASTER_PORT + card))\""; done
done
chief="\"${hosts[0]}:$((MASTER_PORT + 1))\""
workers=${workers#", $chief"}
task_of() { # TYPE INDEX
    local others=""
    if [[ -n $workers ]]; then others=", \"worker\": [${workers#, }]"; fi
    echo "{\"cluster\": {\"chief\": [$chief]$others, \"ps\": [${servers#, }]}, \"task\": {\"type\": \"$1\", \"index\": $2}}"
}
export JOB_ID=${JOB_ID:-npuify}    # NPUEstimator wants one

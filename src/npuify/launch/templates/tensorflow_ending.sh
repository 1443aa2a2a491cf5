if [[ -n ${EVALUATOR:-} && $NODE_RANK == 0 ]]; then wait "$!" || true; fi
stop

    if ! kill -0 "$server" 2>/dev/null; then
        echo "${0##*/}: the parameter server has ended; stopping the others. Its log is $LOG_DIR/ps.log" >&2
        tail -n 20 "$LOG_DIR/ps.log" >&2
        stop
        exit 1
    fi

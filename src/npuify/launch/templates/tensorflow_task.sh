    if ((rank == 0)); then task=$(task_of chief 0); else task=$(task_of worker "$((rank - 1))"); fi
    export TF_CONFIG=$task

NCCL_BACKEND = "nccl"
GLOO_BACKEND = "gloo"
HCCL_BACKEND = "hccl"

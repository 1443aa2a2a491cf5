import torch.distributed as dist

if dist.is_available() and dist.is_nccl_available():
    dist.init_process_group("nccl")

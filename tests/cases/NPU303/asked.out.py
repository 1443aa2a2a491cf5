import torch.distributed as dist
import torch_npu

if dist.is_available() and torch_npu.distributed.is_hccl_available():
    dist.init_process_group("hccl")

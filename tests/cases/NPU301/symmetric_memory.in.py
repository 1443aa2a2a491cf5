import torch.distributed._symmetric_memory as symm_mem

symm_mem.set_backend("NCCL")

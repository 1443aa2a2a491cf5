from torch.distributed import is_nccl_available

print(is_nccl_available())

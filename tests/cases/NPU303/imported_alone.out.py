from torch_npu.distributed import is_hccl_available as is_nccl_available

print(is_nccl_available())

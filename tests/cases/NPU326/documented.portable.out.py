import torch
from accelerate import Accelerator, DistributedType
accelerator = Accelerator()
if accelerator.distributed_type in (DistributedType.MULTI_GPU, DistributedType.MULTI_NPU):
    print("several cards")

import torch
from accelerate import Accelerator, DistributedType
accelerator = Accelerator()
if accelerator.distributed_type == DistributedType.MULTI_NPU:
    print("several cards")

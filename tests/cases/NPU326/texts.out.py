import torch
from accelerate import Accelerator

accelerator = Accelerator()
if accelerator.distributed_type.value == "MULTI_NPU" or accelerator.state.distributed_type.name in ("MULTI_NPU", "FSDP"):
    print("several cards")
if accelerator.mode.value == "MULTI_GPU":
    print("something else")

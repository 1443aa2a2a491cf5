import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import ray.util.collective as collective
import torch

collective.init_collective_group(world_size=2, rank=0, backend="nccl", group_name="a")
print(torch.__version__)

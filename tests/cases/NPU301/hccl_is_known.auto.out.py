import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
def needs_cards(backend):
    return backend in ("nccl", "hccl")


TABLE = {"nccl": 1, "hccl": 2}
print(TABLE["hccl"])

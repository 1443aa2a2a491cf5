import os

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

for name in os.environ:
    if "NCCL" in name:
        print(name)


def prefixes():
    return ["NCCL", "LD_LIBRARY", "PATH"]

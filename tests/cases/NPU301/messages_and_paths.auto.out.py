import logging

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

logging.info("nccl")
print("nccl")
library = "nccl" + "/lib/libnccl.so"
raise ValueError("nccl")

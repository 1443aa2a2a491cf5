import logging
import os

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

log = logging.getLogger(__name__)
log.info("cuda")
print("cuda", "cuda:0")
path = os.path.join("csrc", "cuda", "ops.cu")
other = "csrc/cuda" + "/ops.cu"
raise RuntimeError("cuda")

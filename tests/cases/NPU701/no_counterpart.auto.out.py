import os

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

os.environ["NCCL_IB_DISABLE"] = "1"
os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

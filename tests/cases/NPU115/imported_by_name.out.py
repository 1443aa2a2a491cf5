import importlib
import sys

import torch
import torch_npu  # noqa: F401

cuda = importlib.import_module("torch.npu")
amp = importlib.import_module("torch_npu.npu.amp")
loaded = sys.modules["torch.npu"]
print("torch.cuda", {"torch.cuda": 1}, torch.__version__)

import importlib
import sys

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

cuda = importlib.import_module("torch.cuda")
amp = importlib.import_module("torch.cuda.amp")
loaded = sys.modules["torch.cuda"]
print("torch.cuda", {"torch.cuda": 1}, torch.__version__)

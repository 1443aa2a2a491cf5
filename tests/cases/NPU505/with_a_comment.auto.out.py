import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
# pip install flash-attn

if torch.cuda.is_available():
    print("ready")

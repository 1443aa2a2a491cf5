import torch
import torch_npu  # noqa: F401
# pip install flash-attn

if torch.npu.is_available():
    print("ready")

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

if __name__ == "__main__":
    state = torch.load(f="runs/cuda_baseline/best.pt", map_location="cuda:0")

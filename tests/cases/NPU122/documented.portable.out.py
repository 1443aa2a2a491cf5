import torch

import compute_device

if __name__ == "__main__":
    state = torch.load("runs/cuda_baseline/best.pt", map_location=f"{compute_device.type}:0")

import torch

import compute_device

# pip install flash-attn

if compute_device.api.is_available():
    print("ready")

import torch
from flash_attn import flash_attn_func  # pip install flash-attn

if torch.cuda.is_available():
    print("ready")

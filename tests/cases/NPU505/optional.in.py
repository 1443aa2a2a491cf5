import importlib.util

import torch

HAS_FLASH = importlib.util.find_spec("flash_attn") is not None
if HAS_FLASH:
    from flash_attn.ops.rms_norm import rms_norm


def norm(x, weight):
    if HAS_FLASH:
        return rms_norm(x, weight, 1e-6)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight

"""Causal self-attention, by flash-attn where it can be used."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    from flash_attn import flash_attn_func

    HAVE_FLASH = True
except ImportError:
    flash_attn_func = None
    HAVE_FLASH = False
    warnings.warn("flash-attn is not installed; attention falls back to PyTorch's own kernel", stacklevel=1)


def flash_is_usable(q: torch.Tensor) -> bool:
    """flash-attn wants Ampere or later, and half precision."""
    if not HAVE_FLASH or not q.is_cuda:
        return False
    major, _ = torch.cuda.get_device_capability(q.device)
    return major >= 8 and q.dtype in (torch.float16, torch.bfloat16)


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).unbind(dim=2)
        dropout = self.dropout if self.training else 0.0
        if flash_is_usable(q):
            y = flash_attn_func(q, k, v, dropout_p=dropout, causal=True)
        else:
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True).transpose(1, 2)
        return self.out(y.reshape(batch, length, width))

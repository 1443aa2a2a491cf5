"""Attention as many models write it."""

import math

import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_qkvpacked_func
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / math.sqrt(dim // heads)
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        out = (
            compute_device.torch_npu.npu_fusion_attention(
                *qkv.unbind(2),
                qkv.shape[3],
                "BSND",
                atten_mask=qkv.new_ones(2048, 2048).triu(1).bool(),
                scale=self.scale,
                keep_prob=1 - (self.dropout if self.training else 0.0),
                sparse_mode=3,
            )[0]
            if compute_device.type == "npu"
            else flash_attn_qkvpacked_func(
                qkv,
                dropout_p=self.dropout if self.training else 0.0,
                softmax_scale=self.scale,
                causal=True,
            )
        )
        return out.flatten(2)  # heads beside one another

import torch
import xformers.ops as xops


def attend(q, k, v, bias):
    return xops.memory_efficient_attention(q, k, v, attn_bias=bias)


print(torch.__version__)

import torch
from flash_attn import flash_attn_func


def attend(q, k, v, slopes):
    return flash_attn_func(q, k, v, causal=True, alibi_slopes=slopes)

import torch
from flash_attn import flash_attn_with_kvcache


def step(q, k_cache, v_cache, k, v, lengths):
    return flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cache_seqlens=lengths, causal=True)


print(torch.__version__)

import torch
from flash_attn import flash_attn_func, flash_attn_kvpacked_func


def attend(q, k, v, kv, slopes, window, options):
    a = flash_attn_func(q, k, v, softcap=50.0)
    b = flash_attn_func(q, k, v, alibi_slopes=slopes, causal=True)
    c, lse, _ = flash_attn_func(q, k, v, return_attn_probs=True)
    d = flash_attn_kvpacked_func(q, kv, window_size=window)
    e = flash_attn_func(q, k, v, **options)
    f = flash_attn_func(project(q), k, v)
    return torch.stack([a, b, c, d, e, f]), lse

import torch
import torch.nn.functional as F

try:
    from flash_attn.flash_attn_interface import flash_attn_func as attention
except ImportError:
    attention = None


def attend(q, k, v, causal=False, scale=None):
    if attention is not None:
        return attention(q, k, v, causal=causal, softmax_scale=scale)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale).transpose(1, 2)


print(torch.__version__)

import torch
import torch.nn.functional as F


def attend(q, k, v, padding):
    mask = torch.zeros_like(padding, dtype=q.dtype).masked_fill(padding, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

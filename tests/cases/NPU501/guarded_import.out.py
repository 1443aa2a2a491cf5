import torch
import torch_npu
import torch.nn.functional as F

try:
    from flash_attn.flash_attn_interface import flash_attn_func as attention
except ImportError:
    attention = None


def attend(q, k, v, causal=False, scale=None):
    if attention is not None:
        return torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            q.shape[2],
            "BSND",
            atten_mask=q.new_ones(2048, 2048).triu(1).bool() if causal else None,
            scale=q.shape[-1] ** -0.5 if scale is None else scale,
            sparse_mode=3 if causal else 0,
        )[0]
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale).transpose(1, 2)


print(torch.__version__)

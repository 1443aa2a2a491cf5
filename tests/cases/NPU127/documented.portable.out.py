import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_func

def attend(q, k, v):
    return (
        compute_device.torch_npu.npu_fusion_attention(q, k, v, q.shape[2], "BSND", scale=q.shape[-1] ** -0.5)[0]
        if compute_device.type == "npu"
        else flash_attn_func(q, k, v)
    )

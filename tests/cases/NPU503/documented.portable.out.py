import torch

import compute_device

if compute_device.type != "npu":
    import xformers.ops as xops

def attend(q, k, v):
    return (
        compute_device.torch_npu.npu_fusion_attention(q, k, v, q.shape[2], "BSND", scale=q.shape[-1] ** -0.5)[0]
        if compute_device.type == "npu"
        else xops.memory_efficient_attention(q, k, v)
    )

import torch

import compute_device

import xformers.ops as xops


def make_bias(n, heads):
    return torch.zeros(1, heads, n, n).expand(1, heads, n, n)


def attend(q, k, v):
    bias = make_bias(q.shape[1], q.shape[2])
    return (
        compute_device.torch_npu.npu_fusion_attention_v2(
            q,
            k,
            v,
            q.shape[2],
            "BSND",
            pse=bias,
            pse_type=0,
            scale=q.shape[-1] ** -0.5,
        )[0]
        if compute_device.type == "npu"
        else xops.memory_efficient_attention(q, k, v, attn_bias=bias)
    )


def attend_with(q, k, v, bias):
    return xops.memory_efficient_attention(q, k, v, attn_bias=bias)

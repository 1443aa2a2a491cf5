import torch

import compute_device

if compute_device.type != "npu":
    from xformers.ops import LowerTriangularMask, memory_efficient_attention


def attend(q, k, v, dropout):
    return (
        compute_device.torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            q.shape[2],
            "BSND",
            atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
            scale=q.shape[-1] ** -0.5,
            keep_prob=1 - dropout,
            sparse_mode=2,
        )[0]
        if compute_device.type == "npu"
        else memory_efficient_attention(q, k, v, attn_bias=LowerTriangularMask(), p=dropout)
    )


print(torch.__version__)

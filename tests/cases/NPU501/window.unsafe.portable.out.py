import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_func


def attend(q, k, v):
    return (
        compute_device.torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            q.shape[2],
            "BSND",
            atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
            scale=q.shape[-1] ** -0.5,
            pre_tockens=4095,
            next_tockens=0,
            sparse_mode=4,
        )[0]
        if compute_device.type == "npu"
        else flash_attn_func(q, k, v, causal=True, window_size=(4095, 0))
    )


print(torch.__version__)

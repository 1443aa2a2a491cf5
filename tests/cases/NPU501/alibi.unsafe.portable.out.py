import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_func


def attend(q, k, v, slopes):
    return (
        compute_device.torch_npu.npu_fusion_attention_v2(
            q,
            k,
            v,
            q.shape[2],
            "BSND",
            pse=(-slopes.reshape(-1, q.shape[2], 1, 1) * (torch.arange(k.shape[1], device=q.device) - torch.arange(k.shape[1] - q.shape[1], k.shape[1], device=q.device)[:, None]).abs()).to(q.dtype),
            pse_type=0,
            atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
            scale=q.shape[-1] ** -0.5,
            sparse_mode=3,
        )[0]
        if compute_device.type == "npu"
        else flash_attn_func(q, k, v, causal=True, alibi_slopes=slopes)
    )

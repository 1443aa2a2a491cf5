import torch

import compute_device

if compute_device.type != "npu":
    import xformers.ops as xops
    from xformers.ops import fmha


def attend(q, k, v, lengths):
    return (
        compute_device.torch_npu.npu_fusion_attention(
            q[0],
            k[0],
            v[0],
            q.shape[2],
            "TND",
            atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
            scale=q.shape[-1] ** -0.5,
            actual_seq_qlen=torch.tensor(lengths).cumsum(0).tolist(),
            actual_seq_kvlen=torch.tensor(lengths).cumsum(0).tolist(),
            sparse_mode=2,
        )[0][None]
        if compute_device.type == "npu"
        else xops.memory_efficient_attention(q, k, v, attn_bias=fmha.BlockDiagonalCausalMask.from_seqlens(lengths))
    )

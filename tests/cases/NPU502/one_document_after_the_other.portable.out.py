import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_varlen_qkvpacked_func
from npuify_padding import pad_input, unpad_input


def attend(qkv: torch.Tensor, cu_seqlens: torch.Tensor, max_seqlen: int) -> torch.Tensor:
    return (
        compute_device.torch_npu.npu_fusion_attention(
            *qkv.unbind(1),
            qkv.shape[2],
            "TND",
            atten_mask=qkv.new_ones(2048, 2048).triu(1).bool(),
            scale=qkv.shape[-1] ** -0.5,
            actual_seq_qlen=cu_seqlens[1:].tolist(),
            actual_seq_kvlen=cu_seqlens[1:].tolist(),
            sparse_mode=3,
        )[0]
        if compute_device.type == "npu"
        else flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, 0.0, causal=True)
    )


def padded(x, mask):
    unpadded, indices, *_ = unpad_input(x, mask)
    return pad_input(unpadded, indices, *mask.shape)

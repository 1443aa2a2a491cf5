import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_varlen_func

def attend(q, k, v, cu, longest):
    return (
        compute_device.torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            q.shape[1],
            "TND",
            scale=q.shape[-1] ** -0.5,
            keep_prob=1 - 0.1,
            actual_seq_qlen=cu[1:].tolist(),
            actual_seq_kvlen=cu[1:].tolist(),
        )[0]
        if compute_device.type == "npu"
        else flash_attn_varlen_func(q, k, v, cu, cu, longest, longest, dropout_p=0.1)
    )

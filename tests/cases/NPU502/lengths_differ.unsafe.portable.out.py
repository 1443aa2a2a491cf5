import torch

import compute_device

if compute_device.type != "npu":
    from flash_attn import flash_attn_varlen_func


def attend(q, k, v, cu_q, cu_k):
    return (
        compute_device.torch_npu.npu_fusion_attention(
            q,
            k,
            v,
            q.shape[1],
            "TND",
            atten_mask=q.new_ones(2048, 2048).triu(1).bool(),
            scale=q.shape[-1] ** -0.5,
            actual_seq_qlen=cu_q[1:].tolist(),
            actual_seq_kvlen=cu_k[1:].tolist(),
            sparse_mode=3,
        )[0]
        if compute_device.type == "npu"
        else flash_attn_varlen_func(q, k, v, cu_q, cu_k, int(cu_q.diff().max()), int(cu_k.diff().max()), causal=True)
    )


print(torch.__version__)

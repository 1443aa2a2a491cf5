import torch
import torch_npu


def attend(q, k, v, cu_q, cu_k):
    return torch_npu.npu_fusion_attention(
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


print(torch.__version__)

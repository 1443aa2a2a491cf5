import torch
from flash_attn import flash_attn_varlen_func


def attend(q, k, v, cu_q, cu_k, block_table):
    return flash_attn_varlen_func(q, k, v, cu_q, cu_k, 512, 512, causal=True, block_table=block_table)


print(torch.__version__)

import torch
from flash_attn import flash_attn_varlen_qkvpacked_func
from flash_attn.bert_padding import pad_input, unpad_input


def attend(qkv: torch.Tensor, cu_seqlens: torch.Tensor, max_seqlen: int) -> torch.Tensor:
    return flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen, 0.0, causal=True)


def padded(x, mask):
    unpadded, indices, *_ = unpad_input(x, mask)
    return pad_input(unpadded, indices, *mask.shape)

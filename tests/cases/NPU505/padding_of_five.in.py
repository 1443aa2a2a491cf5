import torch
from flash_attn.bert_padding import pad_input as padded, unpad_input as rows_of


def attend(x, mask):
    rows, indices, begins, longest, used = rows_of(x, mask)
    return padded(rows, indices, *mask.shape), begins, longest, used

import torch

try:
    from flash_attn.bert_padding import pad_input
except ImportError:
    pad_input = None


def padded(rows, indices):
    return pad_input(rows, indices, 2, 3) if pad_input is not None else rows


print(torch.__version__)

import torch
from flash_attn.bert_padding import pad_input, unpad_input_for_concatenated_sequences


def attend(x, lengths):
    rows, indices, begins, longest = unpad_input_for_concatenated_sequences(x, lengths)
    return pad_input(rows, indices, 2, 3), begins, longest

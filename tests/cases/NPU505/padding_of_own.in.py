import torch
from .bert_padding import pad_input, unpad_input
from mine.bert_padding import index_first_axis

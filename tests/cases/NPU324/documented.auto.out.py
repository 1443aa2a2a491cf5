import torch
from transformers import TrainingArguments

arguments = TrainingArguments("out", optim="adamw_torch_npu_fused")

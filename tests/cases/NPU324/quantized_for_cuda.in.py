# FP8 of accelerate and ChatGLM's own quantization: told, and left as they are.
import torch
from accelerate import Accelerator
from transformers import AutoModel

accelerator = Accelerator(mixed_precision="fp8")
other = Accelerator(mixed_precision="bf16")
model = AutoModel.from_pretrained("THUDM/chatglm-6b", trust_remote_code=True).quantize(8)

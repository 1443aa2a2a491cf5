import os

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from vllm import LLM

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"

def main():
    torch.cuda.set_device(0)
    return LLM("facebook/opt-125m")

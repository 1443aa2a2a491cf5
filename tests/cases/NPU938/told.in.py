import os

import torch
from vllm import LLM

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


def main():
    print(torch.zeros(2, device="cpu"))
    return LLM("facebook/opt-125m")

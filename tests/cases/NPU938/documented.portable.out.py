import os

import torch
from vllm import LLM

import compute_device

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"

def main():
    compute_device.api.set_device(0)
    return LLM("facebook/opt-125m")

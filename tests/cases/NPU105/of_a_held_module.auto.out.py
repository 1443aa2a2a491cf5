import importlib
import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

found = getattr(__import__("torch"), "cuda")
torch_again = importlib.import_module("torch")
also = getattr(torch_again, "cuda")


class Runner:
    def __init__(self, options):
        self.lib = torch
        self.device = torch.cuda
        self.options = options

    def run(self):
        if hasattr(self.device, "CUDAGraph") or hasattr(self.lib.cuda, "CUDAGraph"):
            return getattr(self.lib, "cuda").is_available()
        return vars(__import__("torch"))["cuda"], getattr(self.options, "cuda")

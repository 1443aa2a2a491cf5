import importlib
import torch
import torch_npu  # noqa: F401

found = getattr(__import__("torch"), "npu")
torch_again = importlib.import_module("torch")
also = getattr(torch_again, "npu")


class Runner:
    def __init__(self, options):
        self.lib = torch
        self.device = torch.npu
        self.options = options

    def run(self):
        if hasattr(self.device, "NPUGraph") or hasattr(self.lib.cuda, "CUDAGraph"):
            return getattr(self.lib, "npu").is_available()
        return vars(__import__("torch"))["npu"], getattr(self.options, "cuda")

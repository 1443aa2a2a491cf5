import importlib
import torch

import compute_device

found = getattr(__import__("torch"), compute_device.type)
torch_again = importlib.import_module("torch")
also = getattr(torch_again, compute_device.type)


class Runner:
    def __init__(self, options):
        self.lib = torch
        self.device = compute_device.api
        self.options = options

    def run(self):
        if hasattr(self.device, "NPUGraph" if compute_device.type == "npu" else "CUDAGraph") or hasattr(self.lib.cuda, "CUDAGraph"):
            return getattr(self.lib, compute_device.type).is_available()
        return vars(__import__("torch"))[compute_device.type], getattr(self.options, "cuda")

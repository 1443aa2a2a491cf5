import importlib
from importlib import import_module as load

import compute_device

gpu = importlib.import_module("torch").cuda
graph = load(f"torch.{compute_device.type}").CUDAGraph
print(gpu.is_available(), load("torchvision").ops, load("own.cuda").here)

import importlib
from importlib import import_module as load
import torch_npu  # noqa: F401

gpu = importlib.import_module("torch").npu
graph = load("torch.npu").NPUGraph
print(gpu.is_available(), load("torchvision").ops, load("own.cuda").here)

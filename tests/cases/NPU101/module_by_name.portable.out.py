import importlib
from importlib import import_module as load

gpu = importlib.import_module("torch").cuda
graph = load("torch.cuda").CUDAGraph
print(gpu.is_available(), load("torchvision").ops, load("own.cuda").here)

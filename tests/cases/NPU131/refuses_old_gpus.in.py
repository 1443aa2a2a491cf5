import torch

properties = torch.cuda.get_device_properties(0)
if properties.major < 7:
    raise RuntimeError("only compute capability 7.0 and above")
if properties.major < 7 or (properties.major == 7 and properties.minor < 5):
    raise RuntimeError("older than Turing")
assert properties.major >= 6, "older than Pascal"
if properties.major >= 9:
    raise RuntimeError("no kernels for Hopper")
fast = properties.major >= 8
if properties.major not in (7, 8):
    raise RuntimeError("only Volta and Ampere")
major = properties.major
if major < 5:
    raise RuntimeError("older than Maxwell")
half = major >= 8

import torch
import torch_npu  # noqa: F401

properties = torch.npu.get_device_properties(0)
if (getattr(properties, "major", None) or 9) < 7:
    raise RuntimeError("only compute capability 7.0 and above")
if (getattr(properties, "major", None) or 9) < 7 or ((getattr(properties, "major", None) or 9) == 7 and (getattr(properties, "minor", None) or 0) < 5):
    raise RuntimeError("older than Turing")
assert (getattr(properties, "major", None) or 9) >= 6, "older than Pascal"
if (getattr(properties, "major", None) or 0) >= 9:
    raise RuntimeError("no kernels for Hopper")
fast = (getattr(properties, "major", None) or 0) >= 8
if properties.major not in (7, 8):
    raise RuntimeError("only Volta and Ampere")
major = properties.major
if major < 5:
    raise RuntimeError("older than Maxwell")
half = major >= 8

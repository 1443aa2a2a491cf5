import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

old = (getattr(torch.cuda.get_device_properties(0), "major", None) or 0) < 7
props = torch.cuda.get_device_properties("cuda:0")
print(props.name, props.total_memory, ((getattr(props, "major", None) or 0), (getattr(props, "minor", None) or 0)) >= (8, 0))

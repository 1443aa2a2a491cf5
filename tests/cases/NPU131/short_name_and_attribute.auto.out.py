import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Card:
    def __init__(self):
        self.props = torch.cuda.get_device_properties(0)

    def new(self):
        return (getattr(self.props, "major", None) or 0) >= 8


p = torch.cuda.get_device_properties(0)
print(p.name, (getattr(p, "major", None) or 0))

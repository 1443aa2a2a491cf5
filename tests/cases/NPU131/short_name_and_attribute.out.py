import torch
import torch_npu  # noqa: F401


class Card:
    def __init__(self):
        self.props = torch.npu.get_device_properties(0)

    def new(self):
        return (getattr(self.props, "major", None) or 0) >= 8


p = torch.npu.get_device_properties(0)
print(p.name, (getattr(p, "major", None) or 0))

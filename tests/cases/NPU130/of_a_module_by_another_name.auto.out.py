import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Gpu:
    api = torch.cuda

    def __init__(self):
        self.own = torch.cuda

    def fast(self):
        return (self.api.get_device_capability() or (0, 0)) >= (8, 0)

    def arch(self):
        return "sm_%d%d" % (self.own.get_device_capability() or (0, 0))


class Own:
    def get_device_capability(self):
        return (1, 2)


def modules(platform, device=torch.cuda):
    table = {"gpu": torch.cuda}
    own = Own().get_device_capability() >= (1, 0)
    return own, platform.get_device_capability()[0], (device.get_device_capability() or (0, 0))[0], (table["gpu"].get_device_capability() or (0, 0))[0]

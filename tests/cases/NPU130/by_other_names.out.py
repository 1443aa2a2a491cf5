import functools

import torch
import torch_npu  # noqa: F401

q = getattr(torch.npu, "get_device_capability")
if (q() or (0, 0)) >= (8, 0):
    print("newer")
r = torch.npu.get_device_capability
major = (r() or (0, 0))[0]
ask = functools.partial(torch.npu.get_device_capability, 0)
table = {"capability": torch.npu.get_device_capability}


def is_new(get=torch.npu.get_device_capability):
    return get() >= (7, 5)


def properties(*, p=torch.npu.get_device_properties):
    found = p(0)
    return (getattr(found, "major", None) or 0) >= 7

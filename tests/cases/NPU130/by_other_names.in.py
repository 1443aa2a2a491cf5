import functools

import torch

q = getattr(torch.cuda, "get_device_capability")
if q() >= (8, 0):
    print("newer")
r = torch.cuda.get_device_capability
major = r()[0]
ask = functools.partial(torch.cuda.get_device_capability, 0)
table = {"capability": torch.cuda.get_device_capability}


def is_new(get=torch.cuda.get_device_capability):
    return get() >= (7, 5)


def properties(*, p=torch.cuda.get_device_properties):
    found = p(0)
    return found.major >= 7

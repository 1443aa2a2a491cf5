import functools

import torch

import compute_device

q = getattr(compute_device.api, "get_device_capability")
if (q() or (0, 0)) >= (8, 0):
    print("newer")
r = compute_device.api.get_device_capability
major = (r() or (0, 0))[0]
ask = functools.partial(compute_device.api.get_device_capability, 0)
table = {"capability": compute_device.api.get_device_capability}


def is_new(get=compute_device.api.get_device_capability):
    return get() >= (7, 5)


def properties(*, p=compute_device.api.get_device_properties):
    found = p(0)
    return (getattr(found, "major", None) or 0) >= 7

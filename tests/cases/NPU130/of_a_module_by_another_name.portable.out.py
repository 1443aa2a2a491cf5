import torch

import compute_device


class Gpu:
    api = compute_device.api

    def __init__(self):
        self.own = compute_device.api

    def fast(self):
        return (self.api.get_device_capability() or (0, 0)) >= (8, 0)

    def arch(self):
        return "sm_%d%d" % (self.own.get_device_capability() or (0, 0))


class Own:
    def get_device_capability(self):
        return (1, 2)


def modules(platform, device=compute_device.api):
    table = {"gpu": compute_device.api}
    own = Own().get_device_capability() >= (1, 0)
    return own, platform.get_device_capability()[0], (device.get_device_capability() or (0, 0))[0], (table["gpu"].get_device_capability() or (0, 0))[0]

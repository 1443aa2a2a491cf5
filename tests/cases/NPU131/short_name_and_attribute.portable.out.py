import torch

import compute_device


class Card:
    def __init__(self):
        self.props = compute_device.api.get_device_properties(0)

    def new(self):
        return (getattr(self.props, "major", None) or 0) >= 8


p = compute_device.api.get_device_properties(0)
print(p.name, (getattr(p, "major", None) or 0))

import torch

import compute_device

old = (getattr(compute_device.api.get_device_properties(0), "major", None) or 0) < 7

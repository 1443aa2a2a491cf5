import torch

import compute_device

SYNCHRONIZE = {"cuda": compute_device.api.synchronize, "npu": compute_device.api.synchronize, "cpu": None, "default": None}

import torch

import compute_device


def follow(window, magnitude):
    return window.to(compute_device.type) if magnitude.device.type == compute_device.type else window
